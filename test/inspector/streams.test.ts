import { describe, expect, it } from 'vitest'
import { createActor, SimulatedClock } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { tool } from '../../src/tools/tool.ts'
import { openai } from '../hostile/chatWire.ts'
import { loopback } from '../loopback.ts'
import { inspecting, listen, momentOf, type PageFeed } from './watching.ts'

const isOver = (feed: PageFeed) => feed.row('agent')?.endedAt != null

const longAnswer = (chunks: number) =>
  Array.from({ length: chunks }, (_, index) => ({ text: `word${index} ` }))

describe('A long stream', () => {
  it('of 10,000 chunks reaches the page in few messages, complete', async () => {
    const inspector = await inspecting()
    const feed = await listen(inspector)
    await feed.until(({ messages }) => messages.length === 1)
    const startedAt = performance.now()
    const agent = new Agent(scriptedModel([longAnswer(10_000)]), { inspect: inspector.inspect })
    const { output } = await agent.send('Go on')
    await feed.until(isOver)
    expect(feed.text).toBe(output)
    expect(feed.row('agent')?.reads).toBe(10_001)
    // At most one every 50 ms.
    const most = 100 + (performance.now() - startedAt) / 50
    expect(feed.messages.length).toBeLessThan(most)
    expect(feed.raw.length).toBeLessThan(3 * output.length + 100_000)
    const reads = feed.moments.filter(({ path, reads }) => path.length === 1 && reads > 0)
    expect(reads.reduce((sum, moment) => sum + moment.reads, 0)).toBe(10_001)
    expect(feed.moments.length).toBeLessThan(most)
  })

  it('reaches a page that opens in the middle from its beginning to its end', async () => {
    const inspector = await inspecting()
    const clock = new SimulatedClock()
    const model = scriptedModel([[...longAnswer(500), { delayMs: 1 }, ...longAnswer(500)]], { clock })
    const run = new Agent(model, { inspect: inspector.inspect }).send('Go on')
    const early = await listen(inspector)
    await early.until(({ text }) => text.includes('word400 '))
    const late = await listen(inspector)
    await late.until(({ messages }) => messages.length > 0)
    expect(late.messages[0]?.isFirst).toBe(true)
    expect(late.text).toContain('word400 ')
    clock.increment(1)
    const { output } = await run
    for (const feed of [early, late]) {
      await feed.until(isOver)
      expect(feed.text).toBe(output)
    }
    expect(late.moments.map(({ seq }) => seq)).toEqual(early.moments.map(({ seq }) => seq))
  })

  it('reaches a page that opens after its end as a whole', async () => {
    const inspector = await inspecting()
    const agent = new Agent(scriptedModel([longAnswer(6_000)]), { inspect: inspector.inspect })
    const { output } = await agent.send('Go on')
    const feed = await listen(inspector)
    await feed.until(isOver)
    // A busy process sends it in several messages, one right after the other.
    expect(feed.messages.slice(0, -1).every(({ isBehind }) => isBehind)).toBe(true)
    expect(feed.text).toBe(output)
  })

  it('shows a call while it is being written', async () => {
    const inspector = await inspecting()
    const piece = (text: string, name?: string) => ({
      deltas: [{ type: 'toolDelta' as const, index: 0, arguments: text, ...(name && { name }) }],
    })
    const model = scriptedModel([[piece('{"a":', 'look'), piece('1'), { hang: true }]])
    const actor = new Agent(model, { inspect: inspector.inspect }).actor({ prompt: 'Go' })
    actor.start()
    const feed = await listen(inspector)
    await feed.until(({ attempts }) => attempts[0]?.drafts[0]?.arguments === '{"a":1')
    expect(feed.attempts[0]?.drafts).toEqual([{ name: 'look', arguments: '{"a":1' }])
    actor.send({ type: 'abort' })
  })
})

describe('What is kept', () => {
  it('is bounded: the oldest finished runs are dropped, and the page learns it', async () => {
    const inspector = await inspecting()
    const feed = await listen(inspector)
    const model = scriptedModel(Array.from({ length: 53 }, () => 'Hi.'))
    const agent = new Agent(model, { inspect: inspector.inspect })
    for (let run = 0; run < 53; run += 1) await agent.send(`Run ${run}`)
    const titles = () =>
      [...feed.actors.values()].filter(({ parent }) => parent === null).map(({ title }) => title)
    await feed.until(() => titles().at(-1) === 'Run 52' && titles().length === 50)
    expect(titles()[0]).toBe('Run 3')
    const late = await listen(inspector)
    await late.until(({ messages }) => messages.length > 0)
    expect(late.messages[0]?.droppedRuns).toBe(3)
    expect((await fetch(`${inspector.url}moment?actor=1&seq=3`)).status).toBe(404)
  })
})

describe('A key', () => {
  const key = 'sk-proj-abcdefghijklmnopqrstuvwx0123456789'

  it('never reaches a page: not from options, text, tools, errors or contexts', async () => {
    const inspector = await inspecting({ secrets: ['hush-hush'] })
    const feed = await listen(inspector)
    const { url } = await loopback((_, nth) => ({
      body: openai
        .events(
          nth === 0
            ? {
                text: `Your key is ${key}, and hush-hush it is.`,
                calls: [{ id: 'c1', name: 'env', args: `{"x":"${key}"}` }],
              }
            : { text: `Bearer abcdef${key}` },
        )
        .join(''),
    }))
    const env = tool({
      name: 'env',
      description: 'Environment',
      input: { jsonSchema: { type: 'object' } },
      execute: () => ({ apiKey: 'short', OPENAI: key }),
    })
    const agent = new Agent('openai:m', {
      apiKey: key,
      baseUrl: url,
      headers: { authorization: `Bearer ${key}` },
      tools: [env],
      inspect: inspector.inspect,
    })
    await agent.send(`My key is ${key}`)
    await feed.until(isOver)
    const pasts = await Promise.all(
      feed.moments.map(({ seq }) => momentOf(inspector, feed.watched ?? 0, seq)),
    )
    for (const traffic of [feed.raw, JSON.stringify(pasts)]) {
      expect(traffic).not.toContain(key)
      expect(traffic).not.toContain('hush-hush')
    }
    expect(feed.text).toContain('Your key is ***')
  })

  it('does not reach it piece by piece either, when it is streamed letter by letter', async () => {
    const inspector = await inspecting()
    const feed = await listen(inspector)
    const letters = [...`It is ${key} as you know`].flatMap((text) => [{ text }, { delayMs: 2 }])
    await new Agent(scriptedModel([letters]), { inspect: inspector.inspect }).send('Go')
    await feed.until(isOver)
    expect(feed.text).toBe('It is *** as you know')
    expect(feed.raw).not.toContain('sk-')
  })
})

it('keeps watching through a restore: a continued run shows what it had', async () => {
  const inspector = await inspecting()
  const ask = tool({ name: 'ask', description: 'Asks', needsApproval: true, execute: () => 'yes' })
  const turns = [[{ text: 'May I? ' }, { toolCall: { id: 'c1', name: 'ask' } }], 'Thanks.']
  const agent = new Agent(scriptedModel(turns), { tools: [ask] })
  const { pendingApproval } = await agent.send('Ask me')
  const snapshot = pendingApproval?.snapshot
  const actor = createActor(agent.machine, {
    input: {},
    ...(snapshot && { snapshot }),
    inspect: inspector.inspect,
  })
  actor.start()
  const feed = await listen(inspector)
  await feed.until(({ tools }) => tools.get('c1')?.status === 'pending')
  expect(feed.row('agent')).toMatchObject({ title: 'Ask me', status: 'waiting' })
  actor.send({ type: 'tool.approve', callId: 'c1' })
  await feed.until(isOver)
  expect(feed.tools.get('c1')).toMatchObject({ status: 'done', result: 'yes' })
  expect(feed.attempts.at(-1)?.text).toBe('Thanks.')
})
