/** Server tools are sent beside the agent's own, each in its provider's words, and no option of theirs is lost in silence. */
import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages'
import type { ChatCompletionStreamRequest$Outbound } from '@mistralai/mistralai/models/components'
import type { ResponseCreateParamsStreaming } from 'openai/resources/responses/responses'
import { describe, expect, it } from 'vitest'
import { type GoogleProfile, geminiProfile, google } from '../../../providers/google/index.ts'
import type { OpenAIChatProfile } from '../../../providers/openai-chat/index.ts'
import { codeExecution, fileSearch, imageGeneration, webFetch, webSearch } from '../../../src/index.ts'
import { ConfigurationError } from '../../../src/messages/errors.ts'
import type { JsonObject } from '../../../src/messages/json.ts'
import { modelMessage, userMessage } from '../../../src/messages/messages.ts'
import type { ModelProfile, ToolSpec } from '../../../src/model/chatModel.ts'
import type { ServerTool } from '../../../src/model/serverTools.ts'
import { everyProtocol, type ProtocolName, protocolNames } from '../everyProtocol.ts'
import type { GenerateContentBody } from '../google/wireTypes.ts'

const messages = [userMessage('hi')]
const weather: ToolSpec = {
  name: 'get_weather',
  description: 'Weather',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const oslo = { city: 'Oslo', country: 'NO' }
const inOslo = { type: 'approximate', city: 'Oslo', country: 'NO' } as const

const toolsOf = (name: ProtocolName, serverTools: ServerTool[], abilities?: Partial<ModelProfile>) =>
  everyProtocol[name]({ messages, serverTools }, abilities).tools

describe('in the words of each provider', () => {
  it('for Anthropic', () => {
    const golden: MessageCreateParamsStreaming['tools'] = [
      {
        type: 'web_search_20250305',
        name: 'web_search',
        max_uses: 3,
        allowed_domains: ['a.test'],
        user_location: inOslo,
      },
      { type: 'web_search_20250305', name: 'web_search', blocked_domains: ['b.test'] },
      { type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 1 },
      { type: 'code_execution_20250825', name: 'code_execution' },
    ]
    const given = [
      webSearch({ maxUses: 3, allowedDomains: ['a.test'], location: oslo }),
      webSearch({ blockedDomains: ['b.test'] }),
      webFetch({ maxUses: 1 }),
      codeExecution(),
    ]
    expect(toolsOf('anthropic', given)).toEqual(golden)
  })

  it('for the Responses API', () => {
    const golden: ResponseCreateParamsStreaming['tools'] = [
      { type: 'web_search', filters: { allowed_domains: ['a.test'] }, user_location: inOslo },
      { type: 'web_search' },
      { type: 'code_interpreter', container: { type: 'auto' } },
      { type: 'file_search', vector_store_ids: ['vs_1'], max_num_results: 5 },
      { type: 'image_generation' },
    ]
    const given = [
      webSearch({ allowedDomains: ['a.test'], location: oslo }),
      webSearch(),
      codeExecution(),
      fileSearch({ stores: ['vs_1'], maxResults: 5 }),
      imageGeneration(),
    ]
    expect(toolsOf('openai-responses', given)).toEqual(golden)
  })

  it('for Gemini', () => {
    const golden: GenerateContentBody['tools'] = [
      { googleSearch: {} },
      { urlContext: {} },
      { codeExecution: {} },
      { fileSearch: { fileSearchStoreNames: ['fileSearchStores/a'], topK: 5 } },
    ]
    const given = [
      webSearch(),
      webFetch(),
      codeExecution(),
      fileSearch({ stores: ['fileSearchStores/a'], maxResults: 5 }),
    ]
    expect(toolsOf('google', given)).toEqual(golden)
  })

  it('for Mistral', () => {
    const golden: ChatCompletionStreamRequest$Outbound['tools'] = [
      { type: 'web_search' },
      { type: 'code_interpreter' },
      { type: 'image_generation' },
      { type: 'document_library', library_ids: ['l'] },
    ]
    const given = [webSearch(), codeExecution(), imageGeneration(), fileSearch({ stores: ['l'] })]
    expect(toolsOf('mistral', given)).toEqual(golden)
  })

  it('for OpenRouter and Groq, which added some to chat completions', () => {
    const openrouter: Partial<OpenAIChatProfile> = { serverTools: 'openrouter' }
    const groq: Partial<OpenAIChatProfile> = { serverTools: 'groq' }
    const search = webSearch({ blockedDomains: ['b.test'], location: oslo })
    expect(toolsOf('openai-chat', [search, webSearch(), webFetch(), imageGeneration()], openrouter)).toEqual([
      {
        type: 'openrouter:web_search',
        parameters: { excluded_domains: ['b.test'], user_location: inOslo },
      },
      { type: 'openrouter:web_search' },
      { type: 'openrouter:web_fetch' },
      { type: 'openrouter:image_generation' },
    ])
    expect(toolsOf('openai-chat', [webSearch(), codeExecution()], groq)).toEqual([
      { type: 'browser_search' },
      { type: 'code_interpreter' },
    ])
  })
})

describe.each(protocolNames)('server tools of %s', (name) => {
  it('that are raw are sent as they are, after the own tools of the agent', () => {
    const raw = {
      type: 'mcp',
      server_label: 'docs',
      server_url: 'https://x.test/mcp',
      require_approval: 'never',
    }
    const alone = everyProtocol[name]({ messages, tools: [weather] })
    const both = everyProtocol[name]({ messages, tools: [weather], serverTools: [raw] })
    expect(both.tools).toEqual([...(alone.tools as JsonObject[]), raw])
    expect(toolsOf(name, [raw])).toEqual([raw])
  })

  it('add nothing where there are none', () => {
    expect(everyProtocol[name]({ messages, serverTools: [] })).toEqual(everyProtocol[name]({ messages }))
  })
})

describe('what a provider does not have', () => {
  const missing: [ProtocolName, ServerTool, string][] = [
    ['anthropic', imageGeneration(), 'anthropic:claude-sonnet-5 has no server tool imageGeneration'],
    ['openai-chat', webSearch(), 'openai-chat:gpt-4.1 has no server tool webSearch on this API'],
    ['openai-responses', webFetch(), 'has no server tool webFetch'],
    ['cohere', webSearch(), 'has no server tool webSearch'],
    ['ollama', codeExecution(), 'has no server tool codeExecution'],
    ['google', webSearch({ allowedDomains: ['a'] }), 'webSearch of google has no allowedDomains'],
    ['openai-responses', webSearch({ maxUses: 1 }), 'webSearch of openai-responses has no maxUses'],
    ['openai-responses', webSearch({ blockedDomains: ['a'] }), 'has no blockedDomains'],
    ['mistral', fileSearch({ stores: ['l'], maxResults: 1 }), 'fileSearch of mistral has no maxResults'],
  ]

  it.each(missing)('is refused by %s before anything is sent: %j', (name, tool, message) => {
    expect(() => toolsOf(name, [tool])).toThrow(ConfigurationError)
    expect(() => toolsOf(name, [tool])).toThrow(message)
  })

  it('includes tools that no API has', () => {
    const odd: ServerTool = JSON.parse('{"serverTool":"teleport"}')
    expect(() => toolsOf('anthropic', [odd])).toThrow('{"serverTool":"teleport"} is not a server tool.')
  })
})

describe('server tools beside own ones for Gemini', () => {
  const both = { messages, tools: [weather], serverTools: [webSearch()] }

  it('are announced to Gemini 3, whose choice is then not said', () => {
    expect(everyProtocol.google(both).toolConfig).toEqual({
      includeServerSideToolInvocations: true,
    } satisfies GenerateContentBody['toolConfig'])
    expect(everyProtocol.google({ ...both, toolChoice: 'auto' }).toolConfig).toEqual({
      includeServerSideToolInvocations: true,
    })
    expect(everyProtocol.google({ ...both, toolChoice: 'required' }).toolConfig).toEqual({
      functionCallingConfig: { mode: 'ANY' },
      includeServerSideToolInvocations: true,
    })
  })

  it('are not announced where the field is unknown', () => {
    const vertex: Partial<GoogleProfile> = { mixedTools: 'silent' }
    const body = everyProtocol.google(both, vertex)
    expect(body).not.toHaveProperty('toolConfig')
    expect(body.tools).toHaveLength(2)
  })

  it('are refused for Gemini 2, which takes one kind or the other', () => {
    const profile = geminiProfile('gemini-2.5-flash')
    const ask = (tools: ToolSpec[]) =>
      google.request({ ...both, tools }, { provider: 'google', model: 'gemini-2.5-flash', profile }).body
    expect(() => ask([weather])).toThrow("takes server tools or the agent's own tools, not both")
    expect(ask([]).tools).toEqual([{ googleSearch: {} }])
  })
})

it('calls of earlier tools need no substitutes for Anthropic where a server tool is defined', () => {
  const history = [
    ...messages,
    modelMessage([{ type: 'toolCall', id: 'a', name: 'gone', arguments: {} }]),
    userMessage([{ type: 'toolResult', id: 'a', name: 'gone', result: 'x' }]),
  ]
  const body = everyProtocol.anthropic({ messages: history, serverTools: [webSearch()] })
  expect(body.tools).toEqual([{ type: 'web_search_20250305', name: 'web_search' }])
  expect(body).not.toHaveProperty('tool_choice')
})
