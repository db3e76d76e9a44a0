/** Servers that mean harm: they redirect, send without end, or announce changes without end. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { connectMcp, mcpTools } from '../../src/mcp/index.ts'
import { connected, ownServer } from './servers.ts'

const served = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('The server has no address.')
  return `http://127.0.0.1:${address.port}/mcp`
}

test.each(['http', 'sse'] as const)(
  'a redirect is not followed, and no header goes along (%s)',
  async (transport) => {
    const seen: unknown[] = []
    const other = await served(({ headers }, response) => {
      seen.push(headers)
      response.end()
    })
    const url = await served((_, response) => response.writeHead(307, { location: other }).end())
    await expect(connectMcp({ url, transport, headers: { 'x-key': 'mine' } })).rejects.toThrow('redirect')
    expect(seen).toEqual([])
  },
)

test('an answer without an end is cut off', async () => {
  let sent = 0
  const url = await served((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(1_000_000))) sent += 1
    }
    response.on('drain', more)
    more()
  })
  await expect(connectMcp({ url, transport: 'http' })).rejects.toThrow('sent more than')
  expect(sent).toBeLessThan(300)
})

test('a server that announces changes all the time is asked for its list now and then, and calls continue', async () => {
  const connectedAt = performance.now()
  const remote = await connected({ ...ownServer('noisyServer.mjs') })
  const [count] = remote.tools
  // It answers how often it was asked for its list.
  const lists = async (): Promise<number> => {
    const result: unknown = await count?.execute?.(
      {},
      {
        callId: 'c',
        signal: new AbortController().signal,
        context: undefined,
        attempt: 1,
        idempotencyKey: 'c',
        addUsage: () => {},
        report: () => {},
        self: undefined,
      },
    )
    const [{ text }] = result as [{ text: string }]
    return Number(text)
  }
  // A call that waited for the announcements to end would take two seconds, each of them; a busy machine has quick ones, too.
  let fastest = Number.POSITIVE_INFINITY
  while (fastest > 1500 || (await lists()) < 5) {
    const before = performance.now()
    await lists()
    fastest = Math.min(fastest, performance.now() - before)
  }
  // Once in 100 ms at most, and once for the connection.
  const asked = await lists()
  expect(asked).toBeLessThan(2 + (performance.now() - connectedAt) / 95)
})

test('names and descriptions of any length, and schemas that nest without end, break nothing', async () => {
  let deep: object = {}
  for (let level = 0; level < 20_000; level += 1) deep = { properties: { a: deep } }
  const circular: { self?: object } = {}
  circular.self = circular
  const entries = [
    { name: 'n'.repeat(2000), inputSchema: {} },
    { name: 'long', description: 'd'.repeat(1_000_000), inputSchema: { type: 'object' } },
    { name: 'deep', inputSchema: deep },
    { name: 'circular', inputSchema: circular },
    ...Array.from({ length: 1200 }, (_, index) => ({ name: `many${index}`, inputSchema: {} })),
  ]
  const reasons = new Map<string, number>()
  const tools = await mcpTools(
    { listTools: async () => ({ tools: entries }), callTool: async () => ({}) },
    { onSkipped: (_, reason) => reasons.set(reason.slice(0, 30), 1) },
  )
  expect(tools).toHaveLength(1000)
  expect(tools[0]?.description.length).toBe(16_000)
  expect(reasons.size).toBe(3)
})
