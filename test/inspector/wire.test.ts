import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import type { Inspector } from '../../src/inspector/index.ts'
import type { WireContent, WireView } from '../../src/inspector/protocol.ts'
import { modelMessage, userMessage } from '../../src/messages/messages.ts'
import { telemetry } from '../../src/telemetry/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { tool } from '../../src/tools/tool.ts'
import { callChunk, chunk, usageChunk } from '../hostile/chatWire.ts'
import { sse } from '../hostile/wire.ts'
import { loopback, type Reply } from '../loopback.ts'
import { observe } from '../telemetry/observed.ts'
import { speaker } from './speaker.ts'
import { inspecting, listen } from './watching.ts'

const said = (...texts: string[]): string =>
  sse(...texts.map((content) => chunk({ content })), chunk({}, 'stop'), usageChunk, '[DONE]').join('')

const wireOf = async ({ url }: Inspector, actor: number): Promise<WireView> =>
  (await (await fetch(`${url}wire?actor=${actor}`)).json()) as WireView

const contentOf = async ({ url }: Inspector, actor: number, call: number): Promise<WireContent> =>
  (await (await fetch(`${url}call?actor=${actor}&call=${call}`)).json()) as WireContent

const fast = { maxRetries: 2, initialDelayMs: 1, maxDelayMs: 2 }

describe('The wire of a run', () => {
  it('has each call of a model: what was sent, the head of the answer, and its events as they came', async () => {
    const inspector = await inspecting()
    const reply = said('It ', 'rains.')
    const { url, requests } = await loopback(() => ({
      headers: { 'x-request-id': 'req_7', 'x-ratelimit-remaining-tokens': '12', 'set-cookie': 'a=b' },
      body: reply,
    }))
    const clock = tool({ name: 'clock', description: 'The time', execute: () => 'noon' })
    const options = { baseUrl: url, apiKey: 'wire-key-1234', tools: [clock], inspect: inspector.inspect }
    const agent = new Agent('openai:m', { ...options, system: 'Be brief.', temperature: 0.5 })
    await agent.send('How is Bergen?')

    const { calls, forgotten } = await wireOf(inspector, 1)
    expect(forgotten).toBe(0)
    expect(calls).toHaveLength(1)
    expect(calls[0]).toMatchObject({
      step: 1,
      attempt: 0,
      provider: 'openai',
      model: 'm',
      protocol: 'openai-chat',
      keyVariable: 'OPENAI_API_KEY',
      settings: { temperature: 0.5 },
      failure: '',
      isDropped: false,
    })
    const [exchange] = calls[0]?.exchanges ?? []
    expect(exchange).toMatchObject({
      method: 'POST',
      url: `${url}/chat/completions`,
      status: 200,
      headers: { 'x-request-id': 'req_7', 'x-ratelimit-remaining-tokens': '12' },
      events: 5,
    })
    expect(exchange?.sentHeaders.authorization).toBe('Bearer ***')
    expect(exchange?.headers).not.toHaveProperty('set-cookie')

    const content = await contentOf(inspector, 1, calls[0]?.id ?? 0)
    expect(content.system).toBe('Be brief.')
    expect(content.tools).toMatchObject([{ name: 'clock', description: 'The time' }])
    expect(content.messages).toBeNull()
    const [sent] = content.exchanges
    expect(sent?.body).toEqual({ head: requests[0]?.text, tail: '', missing: 0 })
    expect(sent?.head.map(({ data }) => `data: ${data}\n\n`).join('')).toBe(reply)
  })

  it('has retries and a fallback as separate calls, each with its status', async () => {
    const inspector = await inspecting()
    const refusal: Reply = {
      status: 429,
      headers: { 'retry-after-ms': '3' },
      body: { error: { message: 'Slow down.' } },
    }
    const first = await loopback(() => refusal)
    const second = await loopback(() => ({ body: said('Hello.') }))
    const other = new Agent('openai:other', { baseUrl: second.url, apiKey: 'k-other' }).model
    const agent = new Agent('openai:m', {
      baseUrl: first.url,
      apiKey: 'k-first',
      retry: { ...fast, maxRetries: 1 },
      fallback: [other],
      inspect: inspector.inspect,
    })
    await agent.send('Hi')
    const { calls } = await wireOf(inspector, 1)
    expect(calls.map(({ step, model, exchanges }) => [step, model, exchanges[0]?.status])).toEqual([
      [1, 'm', 429],
      [1, 'm', 429],
      [1, 'other', 200],
    ])
    expect(calls.map(({ attempt }) => attempt)).toEqual([0, 1, 2])
    expect(calls[0]).toMatchObject({ failure: expect.stringContaining('Slow down.') })
    expect(calls[0]?.exchanges[0]?.headers).toMatchObject({ 'retry-after-ms': '3' })
    const { exchanges } = await contentOf(inspector, 1, calls[0]?.id ?? 0)
    expect(exchanges[0]?.head).toEqual([{ event: '', data: '{"error":{"message":"Slow down."}}' }])
  })

  it('has a renewed key as another request of the same call, and neither key', async () => {
    const inspector = await inspecting()
    const { url } = await loopback(({ headers }, nth) =>
      nth === 0
        ? { status: 401, body: { error: { message: `Expired: ${headers.authorization}` } } }
        : { body: said(`You are ${headers.authorization}.`) },
    )
    const keys = ['first-key-98765', 'second-key-43210']
    const agent = new Agent('openai:m', {
      baseUrl: url,
      apiKey: () => keys.shift() ?? '',
      inspect: inspector.inspect,
    })
    await agent.send('Hi')
    const { calls } = await wireOf(inspector, 1)
    expect(calls.map(({ exchanges }) => exchanges.map(({ status }) => status))).toEqual([[401, 200]])
    const all = JSON.stringify([calls, await contentOf(inspector, 1, calls[0]?.id ?? 0)])
    expect(all).toContain('Bearer ***')
    expect(all).not.toMatch(/first-key|second-key/)
  })

  it('hides a key that the model spells over several events', async () => {
    const inspector = await inspecting()
    const { url } = await loopback(() => ({ body: said('The key is spe', 'lled-', 'key-', '4711.') }))
    const agent = new Agent('openai:m', {
      baseUrl: url,
      apiKey: 'spelled-key-4711',
      inspect: inspector.inspect,
    })
    await agent.send('Which key?')
    const { exchanges } = await contentOf(inspector, 1, 1)
    expect(exchanges[0]?.isSpelled).toBe(true)
    const all = JSON.stringify(exchanges)
    expect(all).not.toMatch(/lled-|4711/)
    expect(all).toContain('usage')
  })

  it('includes the agents that an orchestrator or a tool runs', async () => {
    const inspector = await inspecting()
    const helper = await loopback(() => ({ body: said('42') }))
    const asksHelper = callChunk({ index: 0, id: 'c1', name: 'helper', args: '{"prompt":"Six by seven?"}' })
    const { url } = await loopback((_, nth) => ({
      body: nth === 0 ? sse(asksHelper, chunk({}, 'tool_calls'), '[DONE]').join('') : said('It is 42.'),
    }))
    const sub = new Agent('openai:sub', { baseUrl: helper.url, apiKey: 'k' })
    const tools = [sub.asTool({ name: 'helper', description: 'Helps' })]
    const agent = new Agent('openai:m', { baseUrl: url, apiKey: 'k', tools, inspect: inspector.inspect })
    await agent.send('Ask the helper')
    const feed = await listen(inspector)
    await feed.until(({ actors }) => actors.size > 0)
    expect((await wireOf(inspector, 1)).calls.map(({ model, step }) => [model, step])).toEqual([
      ['m', 1],
      ['m', 2],
    ])
    const subRow = [...feed.actors.values()].find(({ kind, id }) => kind === 'agent' && id !== 1)
    expect((await wireOf(inspector, subRow?.id ?? 0)).calls.map(({ model }) => model)).toEqual(['sub'])
    expect((await fetch(`${inspector.url}call?actor=1&call=2`)).status).toBe(404)
  })

  it('is the request itself for a model that is not reached over HTTP', async () => {
    const inspector = await inspecting()
    const model = scriptedModel([
      [
        {
          deltas: [
            { type: 'text', text: 'Hello.' },
            { type: 'finish', reason: 'stop' },
          ],
        },
      ],
    ])
    await new Agent(model, { inspect: inspector.inspect, system: 'Be kind.' }).send('Hi')
    const { calls } = await wireOf(inspector, 1)
    expect(calls[0]).toMatchObject({ exchanges: [], protocol: '', keyVariable: '' })
    const content = await contentOf(inspector, 1, 1)
    expect(content).toMatchObject({ system: 'Be kind.', exchanges: [] })
    expect(JSON.stringify(content.messages)).toContain('Hi')
  })

  it('is seen with telemetry before or behind the inspector, and by two inspectors', async () => {
    const observed = observe()
    const [a, b] = [await inspecting(), await inspecting()]
    const { url } = await loopback(() => ({ body: said('Hello.') }))
    for (const inspect of [
      [telemetry(), a.inspect, b.inspect],
      [a.inspect, b.inspect, telemetry()],
    ])
      await new Agent('openai:m', { baseUrl: url, apiKey: 'k', inspect }).send('Hi')
    expect(observed.spans.filter(({ name }) => name === 'chat m')).toHaveLength(2)
    for (const inspector of [a, b]) {
      const runs = [
        ...(await listen(inspector).then(async (feed) => {
          await feed.until(({ actors }) => actors.size > 0)
          return feed.actors.values()
        })),
      ].filter(({ parent }) => parent === null)
      for (const { id } of runs)
        expect((await wireOf(inspector, id)).calls[0]?.exchanges[0]).toMatchObject({ status: 200, events: 4 })
      expect(runs).toHaveLength(2)
    }
  })

  it('has the summary of a compaction as a call that is not a try of a step', async () => {
    const inspector = await inspecting()
    const overflow = { error: { message: 'too long', code: 'context_overflow', retryable: false } }
    const long = 'lorem ipsum '.repeat(300)
    const history = [1, 2, 3].flatMap(() => [userMessage(long), modelMessage(long)])
    const model = scriptedModel([[overflow], 'They talked.', 'Here I am.'])
    await new Agent(model, { inspect: inspector.inspect }).send('Go on.', { history })
    const { calls } = await wireOf(inspector, 1)
    expect(calls.map(({ attempt, isSummary }) => [attempt, isSummary])).toEqual([
      [0, false],
      [null, true],
      [1, false],
    ])
    expect(calls[0]?.failure).toBe('too long')
  })

  it('is recorded for a run that continues from a stored snapshot', async () => {
    const inspector = await inspecting()
    const waiting = await speaker()
    const { url } = await loopback(() => ({ body: said('Hello again.') }))
    const first = new Agent('openai:m', { baseUrl: waiting.url, apiKey: 'k' }).actor({ prompt: 'Hi' })
    first.start()
    await waiting.asked()
    const snapshot = first.getPersistedSnapshot()
    first.stop()
    const agent = new Agent('openai:m', { baseUrl: url, apiKey: 'k', inspect: inspector.inspect })
    await agent.start({ snapshot }).result
    const { calls } = await wireOf(inspector, 1)
    expect(calls.map(({ step, attempt, isSummary }) => [step, attempt, isSummary])).toEqual([[1, 0, false]])
  })

  it('ends where a run is aborted', async () => {
    const inspector = await inspecting()
    const { url } = await loopback(() => ({ body: said('a'), status: 200 }))
    const agent = new Agent('openai:m', { baseUrl: url, apiKey: 'k', inspect: inspector.inspect })
    const run = agent.start('Hi')
    run.on('chunk', () => run.abort())
    await run.result.catch(() => {})
    const { calls } = await wireOf(inspector, 1)
    expect(calls[0]?.endedAt).not.toBeNull()
  })
})

describe('What is kept of the wire', () => {
  it('is the beginning and the end of a long answer, with the number of events in between', async () => {
    const inspector = await inspecting()
    const texts = Array.from({ length: 20_000 }, (_, index) => `word ${index} `)
    const { url } = await loopback(() => ({ body: said(...texts) }))
    const agent = new Agent('openai:m', { baseUrl: url, apiKey: 'k', inspect: inspector.inspect })
    await agent.send('Talk')
    const { calls } = await wireOf(inspector, 1)
    const [exchange] = calls[0]?.exchanges ?? []
    const { exchanges } = await contentOf(inspector, 1, 1)
    const { head = [], tail = [], missing = 0 } = exchanges[0] ?? {}
    expect(exchange?.events).toBe(20_003)
    expect(head.length + missing + tail.length).toBe(20_003)
    expect(missing).toBeGreaterThan(10_000)
    expect(head[0]?.data).toContain('word 0 ')
    expect(tail.at(-1)?.data).toBe('[DONE]')
    const size = [...head, ...tail].reduce((sum, { data }) => sum + data.length, 0)
    expect(size).toBeLessThanOrEqual(300 * 1024)
  })

  it('is the beginning and the end of a long body', async () => {
    const inspector = await inspecting()
    const { url, requests } = await loopback(() => ({ body: said('Long.') }))
    const agent = new Agent('openai:m', { baseUrl: url, apiKey: 'k', inspect: inspector.inspect })
    await agent.send('some words '.repeat(100_000))
    const { exchanges } = await contentOf(inspector, 1, 1)
    const { head = '', tail = '', missing = 0 } = exchanges[0]?.body ?? {}
    const text = requests[0]?.text ?? ''
    expect(head.length + missing + tail.length).toBe(text.length)
    expect(text.startsWith(head)).toBe(true)
    expect(text.endsWith(tail)).toBe(true)
    expect(head.length + tail.length).toBeLessThanOrEqual(512 * 1024)
  })

  it('belongs to the newest calls, once a run has sent too much', async () => {
    const inspector = await inspecting()
    const call = (nth: number) => callChunk({ index: 0, id: `c${nth}`, name: 'more', args: '{}' })
    const { url } = await loopback((_, nth) => ({
      body: nth < 30 ? sse(call(nth), chunk({}, 'tool_calls'), '[DONE]').join('') : said('Done.'),
    }))
    const more = tool({ name: 'more', description: 'More', execute: () => 'x'.repeat(30_000) })
    const agent = new Agent('openai:m', {
      ...{ baseUrl: url, apiKey: 'k', tools: [more], maxSteps: 50, inspect: inspector.inspect },
    })
    await agent.send('Go on')
    const { calls } = await wireOf(inspector, 1)
    expect(calls).toHaveLength(31)
    const dropped = calls.filter(({ isDropped }) => isDropped)
    expect(dropped.length).toBeGreaterThan(2)
    expect(dropped).toEqual(calls.slice(0, dropped.length))
    const { exchanges } = await contentOf(inspector, 1, dropped[0]?.id ?? 0)
    expect(exchanges[0]).toMatchObject({ body: null, head: [], tail: [] })
    expect((await contentOf(inspector, 1, 31)).exchanges[0]?.body).not.toBeNull()
  })
})
