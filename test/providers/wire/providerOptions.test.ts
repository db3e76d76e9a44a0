/** `providerOptions` adds to a request: it never takes away what the agent itself asked for. */
import { describe, expect, it } from 'vitest'
import { withProviderOptions } from '../../../providers/wire/request.ts'
import { isJsonObject, type JsonObject } from '../../../src/messages/json.ts'
import { userMessage } from '../../../src/messages/messages.ts'
import type { ToolSpec } from '../../../src/model/chatModel.ts'
import { everyProtocol, type ProtocolName, protocolNames } from '../everyProtocol.ts'

const messages = [userMessage('hi')]
const weather: ToolSpec = {
  name: 'get_weather',
  description: 'Weather',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const outputSchema = {
  type: 'object',
  properties: { n: { type: 'number' } },
  required: ['n'],
  additionalProperties: false,
}

describe.each(protocolNames)('provider options of %s', (name) => {
  it('add tools after the own ones, and leave those as they are', () => {
    const alone = everyProtocol[name]({ messages, tools: [weather] })
    const extra = { type: 'web_search_20250305', name: 'web_search' }
    const both = everyProtocol[name]({ messages, tools: [weather], providerOptions: { tools: [extra] } })
    expect(alone.tools).toHaveLength(1)
    expect(both).toEqual({ ...alone, tools: [...(alone.tools as JsonObject[]), extra] })
  })

  /** Another field inside each object that the mapper writes itself. */
  const nested: Record<ProtocolName, JsonObject> = {
    anthropic: { output_config: { task_budget: { total: 9 } } },
    'openai-chat': { stream_options: { include_obfuscation: false } },
    'openai-responses': { text: { verbosity: 'low' }, reasoning: { context: 'auto' } },
    google: { generationConfig: { topK: 3 }, toolConfig: { retrievalConfig: { languageCode: 'no' } } },
    mistral: { response_format: { json_schema: { description: 'n' } } },
    cohere: { response_format: { json_schema: { description: 'n' } } },
    ollama: { options: { num_ctx: 8192 } },
  }

  it('join what is there at every depth', () => {
    const request = {
      messages,
      outputSchema,
      temperature: 0,
      thinking: { effort: 'high' },
      toolChoice: 'auto',
      tools: [weather],
    } as const
    const alone = everyProtocol[name]({ ...request, tools: [weather] })
    const both = everyProtocol[name]({ ...request, tools: [weather], providerOptions: nested[name] })
    expect(both).toMatchObject(nested[name])
    expect(both).toMatchObject(alone)
    // Nothing was only added beside: each option met an object of the mapper's.
    for (const key of Object.keys(nested[name])) expect(isJsonObject(alone[key]), key).toBe(true)
  })

  it('have the last word on everything that is no object', () => {
    expect(everyProtocol[name]({ messages, providerOptions: { stream: false, model: 'm' } })).toMatchObject({
      stream: false,
      model: 'm',
    })
  })
})

describe('merging', () => {
  it('replaces an object of another type, whose fields would contradict it', () => {
    const body = { thinking: { type: 'enabled', budget_tokens: 1024 } }
    expect(withProviderOptions(body, { thinking: { type: 'disabled' } })).toEqual({
      thinking: { type: 'disabled' },
    })
  })

  it('replaces lists, but adds to tools and to what a response includes', () => {
    const body = { stop: ['a'], tools: ['t'], include: ['i'] }
    expect(withProviderOptions(body, { stop: ['b'], tools: ['u'], include: ['j'] })).toEqual({
      stop: ['b'],
      tools: ['t', 'u'],
      include: ['i', 'j'],
    })
  })

  it('keeps hostile keys as plain data', () => {
    const options: JsonObject = JSON.parse('{"__proto__": {"polluted": true}, "a": {"__proto__": 1}}')
    const merged = withProviderOptions({ a: { b: 1 } }, options)
    expect(Object.hasOwn(merged, '__proto__')).toBe(true)
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype)
    expect(JSON.stringify(merged)).toBe('{"a":{"b":1,"__proto__":1},"__proto__":{"polluted":true}}')
  })

  it('changes neither of the two', () => {
    const body = { text: { format: 'x' } }
    const options = { text: { verbosity: 'low' } }
    withProviderOptions(body, options)
    expect([body, options]).toEqual([{ text: { format: 'x' } }, { text: { verbosity: 'low' } }])
  })
})
