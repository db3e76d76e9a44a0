import { describe, expect, test } from 'vitest'
import { Agent, tool } from '../../src/index.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { mistral, openai } from './chatWire.ts'
import { farewell, hostileAgent, lastTurn, loop, run, wires } from './hostileRun.ts'
import { hostileServer } from './hostileServer.ts'
import { responses } from './responsesWire.ts'
import { answer, type Wire } from './wire.ts'

// What goes back: a history made by one provider is taken by every other, with ids it accepts and every call
// answered once. Rows 19, 20, 74 and 79 of the list of wire failures.

const turn = {
  text: 'Let me look.',
  calls: [
    { id: 'toolu_01-A', name: 'get_weather', args: '{"city": "Oslo"}' },
    { id: 'toolu_01-B', name: 'get_weather', args: '{"city":"Ro' },
    { id: 'toolu_01-C', name: 'get_time', args: '' },
  ],
}

/** An answer to a foreign history: what the provider would read. */
const sentTo = async (wire: Wire, from: Wire): Promise<JsonObject> => {
  const first = await loop(from, turn)
  const history = JSON.parse(JSON.stringify(first.result.messages))
  const later = await run(wire, [lastTurn(wire)], { history, prompt: 'And tomorrow?' })
  expect(later.error).toBeUndefined()
  expect(later.result.output).toBe(farewell)
  return later.bodies[0] ?? {}
}

describe.each(wires)('history of $model', (from) => {
  test.each(wires.filter((wire) => wire !== from))('is taken by $model whole', async (wire) => {
    const body = await sentTo(wire, from)

    expect(wire.sentCalls(body).map(({ name, args }) => [name, args])).toEqual([
      ['get_weather', { city: 'Oslo' }],
      ['get_weather', {}],
      ['get_time', {}],
    ])
    const [oslo, rome, clock] = wire.sentResults(body).map(({ text }) => text)
    expect(oslo).toBe('{"city":"Oslo","celsius":21}')
    expect(rome).toContain('"error"')
    expect(clock).toContain('12:00')
    const text = JSON.stringify(body)
    for (const said of ['How is the weather?', 'Let me look.', farewell, 'And tomorrow?']) {
      expect(text.split(said)).toHaveLength(2)
    }
  })
})

describe('ids', () => {
  test('mistral_ids: foreign ids become nine letters or digits, the same ones every time', async () => {
    const [first, again] = [await sentTo(mistral, openai), await sentTo(mistral, openai)]
    const ids = mistral.sentCalls(first).map(({ id }) => id)

    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9]{9}$/)
    expect(new Set(ids).size).toBe(3)
    expect(mistral.sentCalls(again).map(({ id }) => id)).toEqual(ids)
  })

  const prefix = 'proxy_'.repeat(15)
  const long = [
    { id: `${prefix}A`, name: 'get_weather', args: '{"city":"Oslo"}' },
    { id: `${prefix}B`, name: 'get_time', args: '{}' },
  ]

  test('long_ids: ids beyond what Responses takes are mapped, not cut to the same stump', async () => {
    const first = await loop(openai, { calls: long })
    const later = await run(responses, [lastTurn(responses)], {
      history: first.result.messages,
      prompt: 'And?',
    })
    const ids = responses.sentCalls(later.bodies[0] ?? {}).map(({ id }) => id)

    for (const id of ids) expect(id.length).toBeLessThanOrEqual(64)
    expect(new Set(ids).size).toBe(2)
  })

  test('long_ids: OpenAI itself gets no id that is longer than it takes either', async () => {
    const first = await loop(responses, { calls: long })
    const server = await hostileServer([lastTurn(openai)])
    // Without a baseUrl the agent talks to OpenAI; only the connection is led to the loopback.
    const redirected: typeof fetch = (url, init) =>
      fetch(String(url).replace('https://api.openai.com', server.url), init)
    const agent = new Agent('openai:gpt-4o', { apiKey: 'k', connection: { fetch: redirected } })
    const result = await agent.send('And?', { history: first.result.messages })
    const body = server.requests[0]?.body ?? {}
    const ids = openai.sentCalls(body).map(({ id }) => id)

    expect(result.output).toBe(farewell)
    for (const id of ids) expect(id.length).toBeLessThanOrEqual(40)
    expect(new Set(ids).size).toBe(2)
    expect(openai.sentResults(body).map(({ id }) => id)).toEqual(ids)
  })

  test('own_long_ids: a server that made long ids gets them back as they were', async () => {
    const outcome = await loop(openai, { calls: long })

    expect(openai.sentResults(outcome.bodies[1] ?? {}).map(({ id }) => id)).toEqual(long.map(({ id }) => id))
  })
})

describe.each(wires)('$model', (wire) => {
  test.each(['approve', 'reject'] as const)(
    'approval (%s): every call gets exactly one result, whatever a person decided',
    async (decision) => {
      const ran: string[] = []
      const guarded = (name: string, needsApproval: boolean) =>
        tool({ name, description: name, needsApproval, execute: () => `${ran.push(name)} done` })
      const calls = [
        { id: 'call_1', name: 'get_weather', args: '{"city":"Oslo"}' },
        { id: 'call_2', name: 'get_time', args: '{}' },
      ]
      const answers = [answer(wire, wire.events({ calls })), lastTurn(wire)]
      const tools = [guarded('get_weather', true), guarded('get_time', false)]
      const { agent, server } = await hostileAgent(wire, answers, { tools })
      const actor = agent.actor({ prompt: 'How is the weather?' })
      const finished = new Promise((resolve) => actor.subscribe({ complete: () => resolve(undefined) }))
      actor.subscribe((snapshot) => {
        if (!snapshot.matches('AwaitingApproval')) return
        if (decision === 'approve') actor.send({ type: 'tool.approve', callId: 'call_1' })
        else actor.send({ type: 'tool.reject', callId: 'call_1', reason: 'not now' })
      })
      actor.start()
      await finished

      expect(ran).toEqual(decision === 'approve' ? ['get_weather', 'get_time'] : ['get_time'])
      const results = wire.sentResults(server.requests[1]?.body ?? {})
      expect(results).toHaveLength(2)
      expect(results[0]?.text).toContain(decision === 'approve' ? '1 done' : 'not now')
      expect(actor.getSnapshot().output).toMatchObject({ status: 'complete', output: farewell })
    },
  )
})
