/** Agents as MCP servers, asked by the SDK's own clients of both versions. */

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { type McpHandler, mcpHandler } from '../../src/mcp/index.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { type ToolContext, tool } from '../../src/tools/tool.ts'
import { connected } from './servers.ts'

const url = new URL('http://statewire.test/mcp')

const fetchOf = (handler: McpHandler) => (input: string | URL | Request, init?: RequestInit) =>
  handler(new Request(input, init))

const clientOf = async (handler: McpHandler, mode: 'auto' | 'legacy' = 'auto'): Promise<Client> => {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(new StreamableHTTPClientTransport(url, { fetch: fetchOf(handler) }))
  onTestFinished(() => client.close())
  return client
}

const eras = ['auto', 'legacy'] as const

test.each(eras)('answers a client (%s), and reports the text as it grows', async (mode) => {
  const agent = new Agent(scriptedModel([[{ text: 'It is ' }, { text: '21 °C.' }]]), { name: 'weather' })
  const client = await clientOf(mcpHandler({ ask: agent }), mode)
  const { tools } = await client.listTools()
  expect(tools).toMatchObject([{ name: 'ask', description: expect.stringContaining('weather') }])
  const reported: (string | undefined)[] = []
  const result = await client.callTool(
    { name: 'ask', arguments: { prompt: 'Weather?' } },
    { onprogress: ({ message }) => reported.push(message) },
  )
  expect(result).toMatchObject({ content: [{ type: 'text', text: 'It is 21 °C.' }] })
  expect(reported.join('')).toBe('It is 21 °C.')
})

test('answers a client of version 1', async () => {
  const client = new Client1({ name: 'test', version: '1' })
  const handler = mcpHandler({ ask: new Agent(scriptedModel(['yes'])) })
  await client.connect(new Http1(url, { fetch: fetchOf(handler) }))
  onTestFinished(() => client.close())
  expect(await client.callTool({ name: 'ask', arguments: { prompt: 'x' } })).toMatchObject({
    content: [{ text: 'yes' }],
  })
})

test('one agent asks another over MCP, each with its own description', async () => {
  const inner = new Agent(scriptedModel(['42']))
  const handler = mcpHandler({ deep_thought: { agent: inner, description: 'Knows the answer' } })
  const remote = await connected({ url, fetch: fetchOf(handler), needsApproval: false })
  expect(remote.tools).toMatchObject([{ name: 'deep_thought', description: 'Knows the answer' }])
  const script = [[{ toolCall: { name: 'deep_thought', arguments: { prompt: 'The answer?' } } }], 'done']
  const { messages } = await new Agent(scriptedModel(script), { tools: [remote] }).send('go')
  expect(messages.flatMap(toolResultsOf)).toMatchObject([{ result: '42' }])
})

test('a client that cancels ends the run', async () => {
  const model = scriptedModel([[{ text: 'Well' }, { hang: true }]])
  const client = await clientOf(mcpHandler({ ask: new Agent(model) }))
  const enough = new AbortController()
  const call = client.callTool(
    { name: 'ask', arguments: { prompt: 'x' } },
    { signal: enough.signal, onprogress: () => enough.abort() },
  )
  await expect(call).rejects.toThrow()
  await vi.waitFor(() => expect(model.closed).toBe(1), 30_000)
})

test('an answer that takes too long ends, for clients that cannot cancel', async () => {
  const model = scriptedModel([[{ hang: true }]])
  const client = await clientOf(mcpHandler({ ask: new Agent(model) }, { timeoutMs: 100 }), 'legacy')
  const result = await client.callTool({ name: 'ask', arguments: { prompt: 'x' } })
  expect(result).toMatchObject({ isError: true })
  expect(model.closed).toBe(1)
})

test('a failure is an error result, and only showError shows its text', async () => {
  const failing = () => new Agent(scriptedModel([[{ error: { message: 'postgres://me:secret@db' } }]]))
  const ask = async (handler: McpHandler) =>
    (await clientOf(handler)).callTool({ name: 'ask', arguments: { prompt: 'x' } })
  const hidden = await ask(mcpHandler({ ask: failing() }))
  expect(hidden).toMatchObject({ isError: true, content: [{ text: 'The agent could not answer.' }] })
  const shown = await ask(mcpHandler({ ask: failing() }, { showError: (error) => `Sorry: ${error}` }))
  expect(shown).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('secret') }] })
})

test('a context may be a promise, and one that rejects fails the call and nothing else', async () => {
  const seen: unknown[] = []
  const look = tool({
    name: 'look',
    description: 'Looks',
    execute: (_: object, { context }: ToolContext<{ user: string }>) => {
      seen.push(context)
      return 'ok'
    },
  })
  const agent = new Agent(scriptedModel([[{ toolCall: { name: 'look' } }], 'done']), { tools: [look] })
  const users = [Promise.reject(new Error('no session')), Promise.resolve({ user: 'ada' })]
  const client = await clientOf(mcpHandler({ ask: agent }, { context: () => users.shift() }))
  const ask = () => client.callTool({ name: 'ask', arguments: { prompt: 'x' } })
  expect(await ask()).toMatchObject({ isError: true })
  expect(await ask()).toMatchObject({ content: [{ text: 'done' }] })
  expect(seen).toEqual([{ user: 'ada' }])
})

test('pages of other origins and other names of the host are refused', async () => {
  const agent = new Agent(scriptedModel(['yes']))
  const handler = mcpHandler({ ask: agent }, { origins: ['https://mine.test'], hosts: ['statewire.test'] })
  const status = async (headers: Record<string, string>, to: string | URL = url) =>
    (await handler(new Request(to, { method: 'POST', headers, body: '{}' }))).status
  expect(await status({ origin: 'https://evil.test' })).toBe(403)
  expect(await status({ origin: 'null' })).toBe(403)
  expect(await status({}, 'http://evil.test/mcp')).toBe(403)
  expect(await status({ host: 'evil.test' })).toBe(403)
  expect(await status({ origin: 'https://mine.test' })).not.toBe(403)
  const plain = mcpHandler({ ask: agent })
  const rebound = new Request('http://evil.test/mcp', {
    method: 'POST',
    headers: { origin: 'http://evil.test' },
  })
  expect((await plain(rebound)).status).toBe(403)
})

test('a call that needs an approval is an error result, and does not run', async () => {
  const execute = vi.fn()
  const erase = tool({ name: 'erase', description: 'Erases', needsApproval: true, execute })
  const agent = new Agent(scriptedModel([[{ toolCall: { name: 'erase' } }]]), { tools: [erase] })
  const client = await clientOf(mcpHandler({ ask: agent }))
  expect(await client.callTool({ name: 'ask', arguments: { prompt: 'x' } })).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('decision on erase') }],
  })
  expect(execute).not.toHaveBeenCalled()
})

test('the tools of the agent get the context of the request', async () => {
  const whoami = tool({
    name: 'whoami',
    description: 'Who asks',
    execute: (_, { context }: ToolContext<{ user: string }>) => context.user,
  })
  const model = scriptedModel([[{ toolCall: { name: 'whoami' } }], 'done'])
  const agent = new Agent(model, { tools: [whoami] })
  const handler = mcpHandler({ ask: agent }, { context: ({ headers }) => ({ user: headers.get('x-user') }) })
  const client = new Client({ name: 'test', version: '1' })
  const requestInit = { headers: { 'x-user': 'ada' } }
  await client.connect(new StreamableHTTPClientTransport(url, { fetch: fetchOf(handler), requestInit }))
  onTestFinished(() => client.close())
  await client.callTool({ name: 'ask', arguments: { prompt: 'x' } })
  expect(model.requests[1]?.messages.flatMap(toolResultsOf)).toMatchObject([{ result: 'ada' }])
})

test('agents that cannot be served are refused when the handler is made', () => {
  const agent = new Agent(scriptedModel([]))
  expect(() => mcpHandler({})).toThrow(ConfigurationError)
  expect(() => mcpHandler({ 'no blanks': agent })).toThrow(ConfigurationError)
  // @ts-expect-error not an agent
  expect(() => mcpHandler({ ask: 'agent' })).toThrow(ConfigurationError)
  // @ts-expect-error not a time
  expect(() => mcpHandler({ ask: agent }, { timeoutMs: 'long' })).toThrow(ConfigurationError)
})
