/** A served agent asks its client about a call that needs an approval. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { WaitingInMemory } from '../../src/mcp/ClientQuestions.ts'
import { type McpHandler, type McpHandlerOptions, mcpHandler } from '../../src/mcp/index.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'

const url = new URL('http://statewire.test/mcp')
const sent: unknown[] = []
const send = tool({
  name: 'send',
  description: 'Sends',
  input: { jsonSchema: { type: 'object' } },
  needsApproval: true,
  execute: (args) => void sent.push(args),
})
const asking = (...ids: string[]): ScriptTurn =>
  ids.map((id) => ({ toolCall: { id, name: 'send', arguments: { to: id } } }))
const serving = (turns: ScriptTurn[], options: McpHandlerOptions = {}) => {
  sent.length = 0
  const model = scriptedModel(turns)
  return {
    model,
    handler: mcpHandler({ ask: new Agent(model, { tools: [send] }), other: new Agent(model) }, options),
  }
}

type Answer = { action: 'accept' | 'decline' | 'cancel'; content?: Record<string, string | boolean> }
const yes: Answer = { action: 'accept', content: { approve: true } }
const clientOf = async (
  handler: McpHandler,
  answer: ((message: string) => Answer) | undefined,
  onBody = (_: string) => {},
) => {
  const elicitation = answer ? { capabilities: { elicitation: { form: {} } } } : {}
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: 'auto' }, ...elicitation },
  )
  if (answer) client.setRequestHandler('elicitation/create', ({ params }) => answer(params.message))
  const fetch = async (input: string | URL | Request, init?: RequestInit) => {
    onBody(String(init?.body ?? ''))
    return handler(new Request(input, init))
  }
  await client.connect(new StreamableHTTPClientTransport(url, { fetch }))
  onTestFinished(() => client.close())
  return client
}
const ask = (client: Client) => client.callTool({ name: 'ask', arguments: { prompt: 'Send it' } })

describe('the client', () => {
  test('is asked about each call, with its arguments, and its yes and no count', async () => {
    const asked: string[] = []
    const { handler, model } = serving([asking('a', 'b'), asking('c'), 'Done.'])
    const client = await clientOf(handler, (message) => {
      asked.push(message)
      return message.includes('"b"')
        ? { action: 'accept', content: { approve: false, reason: 'too far' } }
        : yes
    })
    expect(await ask(client)).toMatchObject({ content: [{ type: 'text', text: 'Done.' }] })
    expect(sent).toEqual([{ to: 'a' }, { to: 'c' }])
    expect(asked).toHaveLength(3)
    expect(asked.join()).toContain('May the agent call send with {"to":"a"}?')
    expect(model.requests[1]?.messages.flatMap(toolResultsOf)).toMatchObject([
      {},
      { rejected: true, result: expect.stringContaining('too far') },
    ])
  })

  test.each<[string, Answer]>([
    ['declines', { action: 'decline' }],
    ['cancels', { action: 'cancel' }],
    ['says nothing clear', { action: 'accept', content: { approve: 'yes' } }],
  ])('that %s has not approved', async (_, answer) => {
    const { handler } = serving([asking('a'), 'Not sent.'])
    // A client may check the answer against the schema before it sends it.
    const result = await ask(await clientOf(handler, () => answer)).catch(() => undefined)
    expect(sent).toEqual([])
    if (answer.action !== 'accept') expect(result).toMatchObject({ content: [{ text: 'Not sent.' }] })
  })

  test('that cannot be asked learns why', async () => {
    const { handler } = serving([asking('a')])
    expect(await ask(await clientOf(handler, undefined))).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('this client cannot be asked') }],
    })
    expect(sent).toEqual([])
  })
})

test('runs that wait in memory are kept up to a number and a size, the oldest first', () => {
  const kept = new WaitingInMemory()
  const ids = (prefix: string, count: number) => Array.from({ length: count }, (_, nth) => `${prefix}${nth}`)
  for (const id of ids('small', 1001)) kept.set(id, 'run')
  expect(ids('small', 1001).filter((id) => kept.get(id) === undefined)).toEqual(['small0'])
  const half = 'x'.repeat(32 * 1024 * 1024 - 10)
  for (const id of ['one', 'two']) kept.set(id, half)
  expect([kept.get('one'), kept.get('two')].every((run) => run === half)).toBe(true)
  kept.set('three', half)
  expect(['one', 'two', 'three'].filter((id) => kept.get(id) !== undefined)).toEqual(['two', 'three'])
  expect([kept.delete('two'), kept.delete('two')]).toEqual([true, false])
  kept.set('four', half)
  expect(kept.get('three')).toBe(half)
  kept.set('five', half.repeat(3))
  expect(['three', 'four', 'five'].filter((id) => kept.get(id) !== undefined)).toEqual([])
})

describe('a question', () => {
  test('outlives the process on a store', async () => {
    const store = new Map<string, string>()
    const first = serving([asking('a')], { waiting: store })
    const second = serving(['Done.'], { waiting: store })
    let current = first.handler
    const relay = Object.assign((request: Request) => current(request), { close: async () => {} })
    const client = await clientOf(relay, () => {
      expect(store.size).toBe(1)
      current = second.handler
      return yes
    })
    expect(await ask(client)).toMatchObject({ content: [{ text: 'Done.' }] })
    expect(sent).toEqual([{ to: 'a' }])
    expect(store.size).toBe(0)
  })

  const headers = (body: string) => ({
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': JSON.parse(body).params.name,
  })
  const repeat = async (handler: McpHandler, body: string) =>
    (await handler(new Request(url, { method: 'POST', headers: headers(body), body }))).text()
  /** The first answer that a client gives, before it is sent. */
  const firstAnswer = async (handler: McpHandler) => {
    let answer = ''
    const relay = async (request: Request) => {
      const body = await request.clone().text()
      if (!body.includes('inputResponses')) return handler(request)
      answer = body
      return Response.json({
        jsonrpc: '2.0',
        id: JSON.parse(body).id,
        error: { code: -32000, message: 'lost' },
      })
    }
    await ask(await clientOf(Object.assign(relay, { close: async () => {} }), () => yes)).catch(() => {})
    return answer
  }

  test('is answered once, for its own tool, and its state cannot be made up', async () => {
    const bodies: string[] = []
    const { handler } = serving([asking('a'), 'Done.'])
    const client = await clientOf(
      handler,
      () => yes,
      (body) => bodies.push(body),
    )
    await ask(client)
    const answered = bodies.findLast((body) => body.includes('inputResponses')) ?? ''
    expect(await repeat(handler, answered)).toContain('Nothing waits for this answer')
    expect(await repeat(handler, answered.replace(/"requestState":"[^"]*"/, '"requestState":"x"'))).toContain(
      'Nothing waits',
    )
    expect(sent).toEqual([{ to: 'a' }])
  })

  test('is answered once where the same answer comes twice at the same moment, to one process or to two', async () => {
    const rows = new Map<string, string>()
    // A database: each of its answers takes a while.
    const later = async <T>(value: () => T): Promise<T> => {
      await new Promise((resolve) => setImmediate(resolve))
      return value()
    }
    const waiting = {
      get: (id: string) => later(() => rows.get(id)),
      set: (id: string, run: string) => later(() => rows.set(id, run)),
      delete: (id: string) => later(() => rows.delete(id)),
    }
    for (const processes of [1, 2]) {
      const first = serving([asking('a'), 'Done.', 'Done.'], { waiting })
      const second = serving(['Done.', 'Done.'], { waiting })
      const answer = await firstAnswer(first.handler)
      const handlers = processes === 1 ? [first.handler, first.handler] : [first.handler, second.handler]
      const texts = await Promise.all(handlers.map((handler) => repeat(handler, answer)))
      expect(texts.filter((text) => text.includes('Nothing waits'))).toHaveLength(1)
      expect(sent).toEqual([{ to: 'a' }])
    }
  })

  test('shows the whole arguments, and what a reader could not see in them', async () => {
    const path = `${'x'.repeat(5000)}/\u202eetc\u200b`
    const { handler } = serving([
      [{ toolCall: { id: 'a', name: 'send', arguments: { path, to: 'me' } } }],
      'Done.',
    ])
    const asked: string[] = []
    await ask(
      await clientOf(handler, (message) => {
        asked.push(message)
        return yes
      }),
    )
    expect(asked.join()).toContain(`{"path":"${'x'.repeat(5000)}/\\u202eetc\\u200b","to":"me"}`)
  })
})
