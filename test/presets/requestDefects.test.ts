import { expect, it } from 'vitest'
import type { AnthropicProfile } from '../../providers/anthropic/profile.ts'
import { thinkingSettings } from '../../providers/anthropic/thinking.ts'
import { bedrock } from '../../providers/clouds/bedrock.ts'
import { findProvider } from '../../providers/registry.ts'
import { ConfigurationError } from '../../src/index.ts'
import { userMessage } from '../../src/messages/messages.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import { fileSearch, webSearch } from '../../src/model/serverTools.ts'
import { loopback } from '../loopback.ts'

const tools = [{ name: 'look', description: '', inputSchema: { type: 'object' } }]

/** The body of one request of a model to a server that refuses it, and the error. */
const sentBy = async (model: string, request: Partial<ModelRequest>, isOwnHost = false) => {
  const server = await loopback(() => ({ status: 403, body: {} }))
  const [provider = '', name = ''] = model.split(':')
  const chat = findProvider(provider).chatModel(name, {
    apiKey: 'key',
    ...(isOwnHost
      ? { connection: { fetch: (url, init) => fetch(`${server.url}${new URL(String(url)).pathname}`, init) } }
      : { baseUrl: server.url }),
  })
  const error = await new Promise<{ message: string; name: string }>((resolve) => {
    chat.stream(
      { messages: [userMessage('Hello')], ...request },
      { deltas: () => {}, end: () => resolve({ message: '', name: '' }), fail: resolve },
    )
  })
  return { body: server.requests[0]?.body, path: server.requests[0]?.path, error }
}

it.each(['openai', 'openai-compatible'])(
  '%s with a baseUrl does not send a schema and tools together: vLLM would never call a tool',
  (provider) => {
    const { profile } = findProvider(provider).chatModel('my-model', { baseUrl: 'http://127.0.0.1:1/v1' })
    expect(profile).toMatchObject({ nativeSchema: true, schemaWithTools: false })
  },
)

it('sends server tools of a model of chat completions to the Responses API, at OpenAI itself', async () => {
  const search = { serverTools: [webSearch()] }
  expect(await sentBy('openai:gpt-4.1', search, true)).toMatchObject({
    path: '/v1/responses',
    body: { tools: [{ type: 'web_search' }] },
  })
  expect(await sentBy('openai:gpt-4.1', {}, true)).toMatchObject({ path: '/v1/chat/completions' })
})

it('advises a name that helps where "openai" with a baseUrl speaks chat completions', async () => {
  const { error } = await sentBy('openai:gpt-6.1-sol', { tools })
  expect(error.message).toContain('Use the Responses API: "openai-responses:gpt-6.1-sol".')
})

it('keeps the temperature where thinking is switched off', async () => {
  const off = { thinking: false, temperature: 0.2 } as const
  expect((await sentBy('openai-responses:gpt-6-luna', off)).body).toMatchObject({
    temperature: 0.2,
    reasoning: { effort: 'none' },
  })
  expect((await sentBy('openai-chat:gpt-6-luna', off)).body).toMatchObject({
    temperature: 0.2,
    reasoning_effort: 'none',
  })
  expect((await sentBy('openai-responses:gpt-6-luna', { temperature: 0.2 })).body).not.toHaveProperty(
    'temperature',
  )
})

it('offers Gemini no search where toolChoice is "none"', async () => {
  const search = { serverTools: [webSearch()], toolChoice: 'none' as const }
  expect((await sentBy('google:gemini-3-flash', search)).body).not.toHaveProperty('tools')
  expect((await sentBy('google:gemini-3-flash', { ...search, tools })).body?.tools).toHaveLength(1)
})

it('refuses fileSearch on Vertex, which has no such stores', async () => {
  const { error, body } = await sentBy('vertex:gemini-3-flash', {
    serverTools: [fileSearch({ stores: ['s'] })],
  })
  expect(error).toMatchObject({
    name: ConfigurationError.name,
    message: expect.stringContaining('fileSearch'),
  })
  expect(body).toBeUndefined()
})

it('does not reserve the longest answer of a model at Bedrock', () => {
  const profile = bedrock.chatModel('global.anthropic.claude-sonnet-5-5', {}).profile as AnthropicProfile
  const situation = { forcedTool: false, resumesWithoutThinking: false }
  expect(thinkingSettings({ messages: [] }, profile, situation).maxTokens).toBe(32_000)
  expect(thinkingSettings({ messages: [], maxOutputTokens: 90_000 }, profile, situation).maxTokens).toBe(
    90_000,
  )
})
