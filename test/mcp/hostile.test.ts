/** Servers that mean harm: they redirect, send without end, or announce changes without end. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { connectMcp, mcpTools } from '../../src/mcp/index.ts'
import { listAll } from '../../src/mcp/sdk.ts'
import { ToolList } from '../../src/mcp/ToolList.ts'
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

test('a line without an end on an open stream is cut off', async () => {
  let sent = 0
  const url = await served((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('event: endpoint\ndata: ')
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(1_000_000))) sent += 1
    }
    response.on('drain', more)
    more()
  })
  await expect(connectMcp({ url, transport: 'sse', connectTimeoutMs: 60_000 })).rejects.toThrow()
  expect(sent).toBeLessThan(300)
})

test('an event without an end is cut off, in however many lines', async () => {
  let sent = 0
  const url = await served((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('event: endpoint\n')
    const more = () => {
      while (!response.destroyed && response.write(`data: ${'x'.repeat(1_000_000)}\r\n`)) sent += 1
    }
    response.on('drain', more)
    more()
  })
  await expect(connectMcp({ url, transport: 'sse', connectTimeoutMs: 60_000 })).rejects.toThrow()
  expect(sent).toBeLessThan(300)
})

test('pages of tools are read up to a limit for all of them', async () => {
  let pages = 0
  const listTools = async () => {
    pages += 1
    return { tools: [{ name: `t${pages}`, description: 'd'.repeat(3_000_000) }], nextCursor: `${pages}` }
  }
  await expect(mcpTools({ listTools, callTool: async () => ({}) })).rejects.toThrow('characters')
  expect(pages).toBe(2)
})

test('a list that drips in page by page, or never comes, ends in time', async () => {
  const never = { listTools: () => new Promise<object>(() => {}), callTool: async () => ({}) }
  await expect(listAll(never, 20)).rejects.toThrow('did not list its tools within 20 ms')
  let pages = 0
  const listTools = async () => {
    pages += 1
    if (pages > 2) await new Promise((resolve) => setTimeout(resolve, 50))
    return { tools: [], nextCursor: `${pages}` }
  }
  await expect(listAll({ listTools, callTool: async () => ({}) }, 20)).rejects.toThrow('did not list')
  const seen = pages
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(pages).toBeLessThanOrEqual(seen + 1)
})

test('a function for skipped tools may be async and reject', async () => {
  const listTools = async () => ({ tools: [{ name: '' }, { name: 'good', inputSchema: {} }] })
  const onSkipped = async () => {
    throw new Error('no log')
  }
  const tools = await mcpTools({ listTools, callTool: async () => ({}) }, { onSkipped })
  await new Promise((resolve) => setImmediate(resolve))
  expect(tools).toHaveLength(1)
})

const checked = async (inputSchema: object, args: object) => {
  const listTools = async () => ({ tools: [{ name: 'one', inputSchema }] })
  const [one] = await mcpTools({ listTools, callTool: async () => ({}) })
  if (!one) throw new Error('The tool was skipped.')
  return await one.validate(args)
}

test('names of all lists are kept up to a limit: a server that lists others each time does not fill the memory', () => {
  const skipped = new Map<string, string>()
  const list = new ToolList(
    { onSkipped: (name, reason) => skipped.set(name, reason) },
    {
      call: async () => ({}),
      app: async () => undefined,
    },
  )
  const named = (round: number) =>
    Array.from({ length: 1000 }, (_, index) => ({ name: `r${round}-${index}`, inputSchema: {} }))
  for (let round = 0; round < 21; round += 1)
    list.take([{ name: 'first', inputSchema: {} }, ...named(round).slice(1)])
  expect(list.tools.map(({ name }) => name)).toContain('first')
  expect(list.tools.length).toBeLessThan(1000)
  expect(skipped.get('r20-999')).toMatch('more than 20000 names')
  list.take(named(0))
  expect(list.tools).toHaveLength(999)
})

test('a list of values is not repeated for each argument that is not in it', async () => {
  const values = Array.from({ length: 12_000 }, (_, index) => `value ${index}`)
  const anyOf = Array.from({ length: 1500 }, (_, index) => ({ $ref: '#/$defs/values', title: `t${index}` }))
  const $defs = { values: { enum: values } }
  const wrong = (count: number) => Array.from({ length: count }, (_, index) => -index)
  for (const inputSchema of [
    { properties: { a: { items: { enum: values } } } },
    { $defs, properties: { a: { items: { anyOf } } } },
  ])
    for (const count of [1, 100, 20_000]) {
      const result = await checked(inputSchema, { a: wrong(count) })
      expect(JSON.stringify(result).length).toBeLessThan(2_000_000)
    }
  // What is small is still refused, with all that is wrong.
  const small = await checked({ properties: { a: { items: { enum: ['x'] } } } }, { a: wrong(3) })
  expect(String(Object(small).problem).split('; ')).toHaveLength(3)
})

test('patterns of a server do not run here', async () => {
  const text = `${'a'.repeat(40)}!`
  const evil = { type: 'string', pattern: '^(a+)+$' }
  for (const inputSchema of [
    { properties: { text: evil } },
    { patternProperties: { '^(a+)+$': {} }, additionalProperties: false },
    { propertyNames: evil },
    { not: { properties: { text: evil } } },
    { properties: { text: { format: 'email', contentEncoding: 'base64', oneOf: [evil, evil] } } },
  ])
    expect(await checked(inputSchema, { text, [text]: 1 })).toMatchObject({ ok: true })
})

test('definitions that double at every step are checked in a moment', async () => {
  const next = (n: number) => ({ $ref: `#/$defs/d${n + 1}` })
  const names = Array.from({ length: 40 }, (_, n) => [`d${n}`, { allOf: [next(n), next(n)] }])
  const $defs = { ...Object.fromEntries(names), d40: { type: 'object' } }
  expect(await checked({ $defs, $ref: '#/$defs/d0' }, { a: 1 })).toMatchObject({ ok: true })
})

test('what can be checked in time that grows with the arguments alone still is', async () => {
  const $defs = { tree: { type: 'object', required: ['id'], properties: { next: { $ref: '#/$defs/tree' } } } }
  const inputSchema = {
    $defs,
    type: 'object',
    required: ['path'],
    properties: {
      path: { type: 'string', maxLength: 5 },
      mode: { oneOf: [{ const: 'r' }, { const: 'w' }] },
      tree: { $ref: '#/$defs/tree' },
    },
    additionalProperties: false,
  }
  for (const args of [
    {},
    { path: 1 },
    { path: 'too long' },
    { path: 'a', mode: 'x' },
    { path: 'a', tree: { id: 1, next: {} } },
    { path: 'a', more: 1 },
  ])
    expect(await checked(inputSchema, args), JSON.stringify(args)).toMatchObject({ ok: false })
  expect(await checked(inputSchema, { path: 'a', mode: 'w', tree: { id: 1 } })).toMatchObject({ ok: true })
})
