/** Messages to stored runs: at once, with the next request, or when the run is idle. */
import { describe, expect, test, vi } from 'vitest'
import { SimulatedClock } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { textOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { sleepTool } from '../../src/tools/sleep.ts'
import { tool } from '../../src/tools/tool.ts'
import { readAll } from './reading.ts'
import { afterKill, opened, storeFile } from './storeFile.ts'

const slow: ScriptTurn = [{ text: 'It costs ' }, { delayMs: 1 }, { text: '5 dollars.' }]

/** A run whose first answer stops in the middle until the clock is moved. */
const streaming = async (rest: ScriptTurn[]) => {
  const clock = new SimulatedClock()
  const model = scriptedModel([slow, ...rest], { clock })
  const path = storeFile()
  const runs = await opened(path, { agent: new Agent(model) })
  const run = await runs.start('agent', 'How much?', { id: 'job' })
  const read = readAll(run)
  // A test that does not look at it may be over before it is.
  read.catch(() => {})
  await vi.waitFor(() => expect(model.requests).toHaveLength(1), 30_000)
  for await (const { chunk } of run.stream()) if (chunk.output !== '') break
  return { clock, model, path, runs, run, read }
}

const lastText = (request: { messages: readonly Parameters<typeof textOf>[0][] } | undefined) =>
  textOf(request?.messages.at(-1) ?? { role: 'user', parts: [] })

describe('a message', () => {
  test('for now cuts the answer off, keeps what was shown, and starts over', async () => {
    const { model, runs, run, read } = await streaming(['It costs 4 euros.'])
    expect(await runs.send('job', { type: 'message', text: 'Use euros.', when: 'now' })).toBe('delivered')
    const { messages, status } = await run.result
    expect(status).toBe('complete')
    expect(messages.map(textOf)).toEqual(['How much?', 'It costs ', 'Use euros.', 'It costs 4 euros.'])
    expect(messages[1]?.metadata).toMatchObject({ interrupted: 'message' })
    expect(validateHistory(messages)).toEqual([])
    expect(lastText(model.requests[1])).toBe('Use euros.')
    expect(model.closed).toBeGreaterThan(0)
    expect((await read).texts).toEqual(['It costs ', '\nIt costs 4 euros.'])
  })

  test('for the next step waits for the end of the answer', async () => {
    const { clock, runs, run } = await streaming(['It costs 4 euros.'])
    expect(await runs.send('job', { type: 'message', text: 'Use euros.' })).toBe('delivered')
    clock.increment(1)
    expect((await run.result).messages.map(textOf)).toEqual([
      'How much?',
      'It costs 5 dollars.',
      'Use euros.',
      'It costs 4 euros.',
    ])
  })

  test('for an idle run is queued: each is a turn of its own, in their order', async () => {
    const { clock, runs, run } = await streaming(['One.', 'Two.', 'Three.'])
    const texts = ['first', 'second', 'third']
    for (const text of texts)
      expect(await runs.send('job', { type: 'message', text, when: 'idle' })).toBe('queued')
    clock.increment(1)
    expect((await run.result).messages.map(textOf).slice(2)).toEqual([
      'first',
      'One.',
      'second',
      'Two.',
      'third',
      'Three.',
    ])
  })

  test('of another process is queued, and counts once however often it is sent', async () => {
    const { clock, path, runs, run } = await streaming(['It costs 4 euros.'])
    const guest = await opened(path, {})
    const message = { type: 'message', text: 'Use euros.' } as const
    expect(await guest.send('job', message, { commandId: 'm1' })).toBe('queued')
    await guest.send('job', message, { commandId: 'm1' })
    await runs.send('job', message, { commandId: 'm1' })
    clock.increment(1)
    const texts = (await run.result).messages.map(textOf)
    expect(texts.filter((text) => text === 'Use euros.')).toHaveLength(1)
  })

  test('stays in the conversation if a decision that came before it ends the run', async () => {
    const path = storeFile()
    const work = tool({ name: 'work', description: 'Works', execute: () => 'done' })
    const model = scriptedModel([[{ toolCall: { id: 'c', name: 'work' } }]])
    const agent = new Agent(model, { tools: [work], maxSteps: 1, atLimit: 'ask' })
    const runs = await opened(path, { agent })
    await (await runs.start('agent', 'Go', { id: 'job' })).result
    await runs.close()
    const guest = await opened(path, {})
    await guest.send('job', { type: 'tool.reject', callId: 'limit' })
    expect(await guest.send('job', { type: 'message', text: 'Hello?' })).toBe('queued')
    const again = await opened(path, { agent })
    const result = await (await again.get('job'))?.result
    expect(result?.messages.map(textOf).filter((text) => text === 'Hello?')).toHaveLength(1)
  })

  test('and a decision on a task do not keep a run from the end that a decision before them brings', async () => {
    const path = storeFile()
    const ask = tool({ name: 'ask', description: 'Asks', needsApproval: true, execute: () => 'yes' })
    const worker = new Agent(scriptedModel([[{ toolCall: { id: 'q', name: 'ask' } }]]), { tools: [ask] })
    const work = worker.asTool({ name: 'work', description: 'Works', background: true })
    const start: ScriptTurn = [{ toolCall: { id: 'a', name: 'work', arguments: { prompt: 'Go' } } }]
    const lead = new Agent(scriptedModel([start]), { tools: [work], maxSteps: 1, atLimit: 'ask' })
    const runs = await opened(path, { lead })
    const run = await runs.start('lead', 'Go', { id: 'job' })
    await vi.waitFor(async () => expect((await run.info()).pending).toHaveLength(2), 30_000)
    await runs.close()
    const guest = await opened(path, {})
    await guest.send('job', { type: 'tool.reject', callId: 'limit' })
    await guest.send('job', { type: 'tool.approve', callId: 'a/q' })
    await guest.send('job/a', { type: 'message', text: 'Hurry.' })
    await guest.send('job', { type: 'message', text: 'Hello?' })
    const again = await opened(path, { lead })
    const result = await (await again.get('job'))?.result
    expect(result?.messages.map(textOf)).toContain('Hello?')
    expect((await again.health()).unreadCommands).toBe(0)
  })

  test('stays in the conversation of a run whose process died, and that ends as soon as it continues', async () => {
    const path = storeFile()
    const hang = tool({ name: 'hang', description: 'Hangs', execute: () => new Promise(() => {}) })
    const script: ScriptTurn[] = [[{ toolCall: { id: 'c', name: 'hang' } }]]
    const last = () => new Agent(scriptedModel(script), { tools: [hang], maxSteps: 1 })
    const runs = await opened(path, { agent: last() })
    const run = await runs.start('agent', 'Go', { id: 'job' })
    await vi.waitFor(async () => expect((await run.info()).state).toBe('ToolExecution'), 30_000)
    const [copy, other] = [afterKill(path), afterKill(path)]
    const guest = await opened(copy, {})
    for (const text of ['Hello?', 'Are you there?'])
      expect(await guest.send('job', { type: 'message', text })).toBe('queued')
    const again = await opened(copy, { agent: last() })
    const result = await (await again.get('job'))?.result
    expect(result?.messages.map(textOf).join()).toContain('Hello?Are you there?')
    expect((await again.health()).unreadCommands).toBe(0)
    await (await opened(other, {})).send('job', { type: 'abort', reason: 'enough' })
    const aborted = await (await opened(other, { agent: last() })).get('job')
    await expect(aborted?.result).rejects.toThrow('enough')
  })

  test('is refused by a run that is over, and wrong ones are errors', async () => {
    const runs = await opened(storeFile(), { agent: new Agent(scriptedModel(['Hi.'])) })
    await (await runs.start('agent', 'Go', { id: 'job' })).result
    expect(await runs.send('job', { type: 'message', text: 'Late.', when: 'idle' })).toBe('refused')
    await expect(runs.send('none', { type: 'message', text: 'Hi' })).rejects.toThrow('no run')
    const agent = new Agent(scriptedModel([[{ hang: true }]]))
    const other = await opened(storeFile(), { agent })
    await other.start('agent', 'Go', { id: 'job' })
    for (const bad of [{ text: 5 }, { text: 'Hi', when: 'later' }])
      await expect(other.send('job', { type: 'message', ...bad } as never)).rejects.toThrow(
        ConfigurationError,
      )
  })

  test('for now ends a sleep, and one for the next step does not', async () => {
    const sleep: ScriptTurn = [{ toolCall: { id: 's', name: 'sleep', arguments: { seconds: 3600 } } }]
    const model = scriptedModel([sleep, 'I am awake.'])
    const runs = await opened(storeFile(), { agent: new Agent(model, { tools: [sleepTool()] }) })
    const run = await runs.start('agent', 'Go', { id: 'job' })
    const isAsleep = async () => expect(await run.info()).toMatchObject({ status: 'waiting' })
    await vi.waitFor(isAsleep, 30_000)
    await runs.send('job', { type: 'message', text: 'Take your time.' })
    await vi.waitFor(isAsleep, 30_000)
    expect(model.requests).toHaveLength(1)
    expect(await runs.send('job', { type: 'message', text: 'Wake up.', when: 'now' })).toBe('delivered')
    expect((await run.result).answer).toBe('I am awake.')
    expect(model.requests[1]?.messages.at(-1)?.parts).toMatchObject([
      { result: expect.stringContaining('Woken after') },
      { text: 'Take your time.' },
      { text: 'Wake up.' },
    ])
  })

  test('reaches a run that waits for a person, and is seen with the result', async () => {
    const wipe = tool({ name: 'wipe', description: 'Wipes', needsApproval: true, execute: () => 'wiped' })
    const model = scriptedModel([[{ toolCall: { id: 'c', name: 'wipe' } }], 'Done.'])
    const runs = await opened(storeFile(), { agent: new Agent(model, { tools: [wipe] }) })
    const run = await runs.start('agent', 'Go', { id: 'job' })
    await run.result
    expect(await runs.send('job', { type: 'message', text: 'Be brief.', when: 'now' })).toBe('delivered')
    await runs.send('job', { type: 'tool.approve', callId: 'c' })
    expect(await run.result).toMatchObject({ status: 'complete' })
    expect(model.requests[1]?.messages.at(-1)?.parts).toMatchObject([
      { result: 'wiped' },
      { text: 'Be brief.' },
    ])
  })
})

test.each([
  ['message', { type: 'message', text: 'Use euros.', when: 'now' }],
  ['abort', { type: 'abort' }],
] as const)('text that was stored is shown again before a %s keeps it', async (_, command) => {
  const { path, runs, read } = await streaming([])
  // The store is closed while it reads.
  read.catch(() => {})
  // A command in the middle of an answer stores what there is of it.
  await runs.send('job', { type: 'message', text: 'Hurry.' })
  const copy = afterKill(path)
  const model = scriptedModel([[{ hang: true }], 'It costs 4 euros.'])
  const again = await opened(copy, { agent: new Agent(model) })
  const later = await again.get('job')
  await again.send('job', command)
  if (!later) throw new Error('There is no run.')
  const { messages, texts } = await readAll(later)
  expect(texts.map((text) => text.trim())).toEqual(
    messages.filter(({ role }) => role === 'model').map((message) => textOf(message).trim()),
  )
  expect(texts[0]).toBe('It costs ')
})

test('a run in memory takes messages as well', async () => {
  const clock = new SimulatedClock()
  const agent = new Agent(scriptedModel([slow, 'Euros.', 'Bye.'], { clock }), { clock })
  const run = agent.start('How much?')
  await vi.waitFor(() => expect(run.state).toBe('Accumulating'), 30_000)
  run.steer('Say bye.', { when: 'idle' })
  run.steer('Use euros.', { when: 'now' })
  expect((await run.result).messages.map(textOf).slice(2)).toEqual([
    'Use euros.',
    'Euros.',
    'Say bye.',
    'Bye.',
  ])
  expect(() => run.steer('Hi', { when: 'later' as never })).toThrow(ConfigurationError)
})
