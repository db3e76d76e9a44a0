/** mcpTools takes the connected clients of both versions of the SDK, as they are, and refuses other values. */
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { connectMcp, type McpClient, type McpToolOptions, mcpTools } from '../../src/mcp/index.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { everything } from './servers.ts'

const clients: Record<string, () => Promise<McpClient & { close(): Promise<void> }>> = {
  'version 1': async () => {
    const client = new Client1({ name: 'test', version: '1' })
    await client.connect(new Stdio1({ ...everything, stderr: 'ignore' }))
    return client
  },
  'version 2': async () => {
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(new StdioClientTransport({ ...everything, stderr: 'ignore' }))
    return client
  },
}

describe.each(Object.entries(clients))('a client of %s', (_, connect) => {
  test('lends its tools to an agent: results, errors, progress, abort', async () => {
    const client = await connect()
    onTestFinished(() => client.close())
    const tools = await mcpTools(client, { prefix: 'ev_', needsApproval: false })
    expect(tools.map(({ name }) => name)).toContain('ev_get-sum')
    const long = { name: 'ev_trigger-long-running-operation', arguments: { duration: 0.4, steps: 2 } }
    const model = scriptedModel([
      [{ toolCall: { name: 'ev_get-sum', arguments: { a: 2, b: 3 } } }],
      [{ toolCall: { name: 'ev_get-resource-reference', arguments: { resourceId: -1 } } }],
      [{ toolCall: long }],
      [{ toolCall: { ...long, arguments: { duration: 60, steps: 60 } } }],
    ])
    const run = new Agent(model, { tools }).start('go')
    const results: unknown[] = []
    const progress: unknown[] = []
    run.on('tool.result', ({ result }) => results.push(result))
    run.on('tool.progress', ({ value }) => {
      progress.push(value)
      if (results.length === 3) run.abort('enough')
    })
    await expect(run.result).rejects.toMatchObject({ name: 'AbortedError' })
    expect(results).toMatchObject([
      { result: 'The sum of 2 and 3 is 5.' },
      { isError: true, result: expect.stringContaining('resourceId') },
      { result: expect.stringContaining('completed') },
    ])
    expect(progress[0]).toEqual({ progress: 1, total: 2 })
  })
})

test('a list on several pages is read to its end, and one without an end is not followed for ever', async () => {
  const page = (name: string, nextCursor?: string) => ({ tools: [{ name, inputSchema: {} }], nextCursor })
  const client = (listTools: McpClient['listTools']): McpClient => ({ listTools, callTool: async () => ({}) })
  const three = client(async ({ cursor = '1' } = {}) =>
    page(`t${cursor}`, cursor === '3' ? undefined : `${+cursor + 1}`),
  )
  expect((await mcpTools(three)).map(({ name }) => name)).toEqual(['t1', 't2', 't3'])
  const endless = client(async ({ cursor = '1' } = {}) => page(`t${cursor}`, `${+cursor + 1}`))
  await expect(mcpTools(endless)).rejects.toThrow('more than 64 pages')
  await expect(mcpTools(client(async () => ({ tools: 'none' })))).rejects.toThrow(
    'did not send a list of tools',
  )
})

test('a tool that is listed wrongly is left out, and reported', async () => {
  const entries = [
    null,
    { name: '' },
    { name: 'fine', inputSchema: { type: 'object' } },
    { name: 'fine', inputSchema: { type: 'object' } },
    { name: 'task', inputSchema: {}, execution: { taskSupport: 'required' } },
    { name: 'text', inputSchema: 'object' },
    { name: 'lost', inputSchema: { $ref: '#/$defs/nowhere' } },
    { name: 'huge', inputSchema: { description: 'x'.repeat(300_000) } },
  ]
  const client: McpClient = { listTools: async () => ({ tools: entries }), callTool: async () => ({}) }
  const skipped = new Map<string, string>()
  const tools = await mcpTools(client, { onSkipped: (name, reason) => skipped.set(name, reason) })
  expect(tools.map(({ name }) => name)).toEqual(['fine'])
  expect([...skipped.keys()]).toEqual(['', 'fine', 'task', 'text', 'huge', 'lost'])
})

const wrong: [string, unknown][] = [
  ['prefix', 'no blanks'],
  ['prefix', 'x'.repeat(33)],
  ['include', 'echo'],
  ['needsApproval', 'yes'],
  ['background', 'yes'],
  ['timeoutMs', -1],
  ['maxTimeoutMs', 'long'],
  ['onInterrupted', 'again'],
  ['maxResult', '1'],
  ['onSkipped', true],
]

test.each(wrong)('%s: %o is refused', async (name, value) => {
  const options = { [name]: value } as McpToolOptions
  const client: McpClient = { listTools: async () => ({ tools: [] }), callTool: async () => ({}) }
  await expect(mcpTools(client, options)).rejects.toThrow(ConfigurationError)
  await expect(connectMcp({ ...everything, ...options })).rejects.toThrow(ConfigurationError)
})

test.each([
  {},
  { url: 'http://a.test/', command: 'b' },
  { url: 'no url' },
  { url: 'file:///etc/passwd' },
  { url: 'http://a.test/', headers: { a: 1 } },
  { url: 'http://a.test/', transport: 'pigeon' },
  { command: 1 },
  { command: 'a', args: 'b' },
  { command: 'a', env: { A: 1 } },
  { command: 'a', elicitation: 'yes' },
  { command: 'a', connectTimeoutMs: 'long' },
])('connecting with %o is refused', async (options) => {
  await expect(connectMcp(Object(options))).rejects.toThrow(ConfigurationError)
})

test('a value that is not a client is refused', async () => {
  await expect(mcpTools(Object({ listTools: () => {} }))).rejects.toThrow('no function "callTool"')
})

test('a server that cannot be started, or is not there, is named without its secrets', async () => {
  await expect(connectMcp({ command: '/no/such/program', env: { KEY: 'secret-of-mine' } })).rejects.toThrow(
    /Cannot connect to the MCP server "\/no\/such\/program": there is no such program/,
  )
  const headers = { authorization: 'Bearer secret-of-mine' }
  const unreachable = connectMcp({ url: 'http://127.0.0.1:9/mcp?key=secret-of-mine', headers })
  await expect(unreachable).rejects.toThrow(
    /Cannot connect to the MCP server http:\/\/127\.0\.0\.1:9\/mcp: (?!.*secret)/,
  )
})

test('a server that echoes the headers in its error does not get them into ours', async () => {
  const echo = async (_: unknown, init?: RequestInit) =>
    new Response(`You sent ${new Headers(init?.headers).get('x-key')}`, { status: 418 })
  const headers = { 'x-key': 'my-own-secret-key' }
  const refused = connectMcp({ url: 'http://echo.test/mcp', headers, fetch: echo })
  await expect(refused).rejects.toThrow(/You sent (?!.*my-own-secret-key)/)
})

test('a silent server is abandoned', async () => {
  const silent = { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'] }
  await expect(connectMcp({ ...silent, connectTimeoutMs: 200 })).rejects.toThrow('timed out')
})

test('arguments that are required and have a default are filled in, as servers do', async () => {
  const inputSchema = {
    type: 'object',
    properties: {
      unit: { type: 'string', default: 'celsius' },
      place: {
        type: 'object',
        properties: { country: { type: 'string', default: 'NO' } },
        required: ['country'],
      },
      days: { type: 'integer', default: 3 },
      city: { type: 'string' },
    },
    required: ['unit', 'city'],
  }
  const called: unknown[] = []
  const client: McpClient = {
    listTools: async () => ({ tools: [{ name: 'weather', inputSchema }] }),
    callTool: async (params) => {
      called.push(params.arguments)
      return { content: [{ type: 'text', text: 'ok' }] }
    },
  }
  const tools = await mcpTools(client, { needsApproval: false })
  const ask = (args: JsonObject) => [{ toolCall: { name: 'weather', arguments: args } }]
  const model = scriptedModel([
    ask({ city: 'Oslo', place: {} }),
    ask({ city: 'Oslo', unit: 'kelvin' }),
    ask({}),
    'done',
  ])
  const { messages } = await new Agent(model, { tools }).send('go')
  expect(called).toEqual([
    { city: 'Oslo', place: { country: 'NO' }, unit: 'celsius' },
    { city: 'Oslo', unit: 'kelvin' },
  ])
  expect(messages.flatMap(toolResultsOf).at(-1)).toMatchObject({
    isError: true,
    result: expect.stringContaining('city'),
  })
})
