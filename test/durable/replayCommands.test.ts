/** Commands for a run while a segment of it is under way: each reaches the chart once, at the same place in every incarnation. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { setup } from 'xstate'
import type { ReplayEngine, SegmentEnd } from '../../src/durable/index.ts'
import { Agent, type AgentInput, type AgentOutput, type Orchestrator, tool } from '../../src/index.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { type Journal, newJournal } from '../dbos/world/memoryEngine.ts'
import { idle } from '../engine/watching.ts'
import { leave, numbered, playSegment, recordsOf, silentModel } from './replaying.ts'

// The time between two looks is moved by the tests.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  // Nothing looks for commands any more.
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

const pass = async (ms: number): Promise<void> => {
  vi.advanceTimersByTime(ms)
  await idle()
}

const reaches = async (list: readonly unknown[], length: number): Promise<void> => {
  while (list.length < length) await idle(1)
}

const abort = { type: 'abort', reason: 'Enough.' } as const
const steer = (text: string) => ({ type: 'steer', text }) as const

const usersTexts = (end: SegmentEnd): string[] =>
  ('output' in end ? end.output.messages : [])
    .filter(({ role }) => role === 'user')
    .flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])))

/** A tool whose end a test decides on. */
const heldTool = () => {
  const ends: (() => void)[] = []
  const signals: AbortSignal[] = []
  const hold = tool({
    name: 'hold',
    description: 'Holds',
    execute: (_, { signal }) => {
      signals.push(signal)
      return new Promise<string>((resolve) => {
        ends.push(() => resolve('held'))
      })
    },
  })
  return { hold, ends, signals }
}

const holding = (...ids: string[]) => ids.map((id) => ({ toolCall: { id, name: 'hold' } }))
const aCall = (journal: Journal, id: string): unknown =>
  Object.entries(recordsOf(journal)).find(
    ([name]) => name.startsWith(`run/${id}/`) && !name.endsWith(' intent'),
  )?.[1]

describe('an abort', () => {
  test('that comes during an answer cuts it within half a second', async () => {
    const journal = newJournal()
    const model = silentModel()
    const segment = playSegment(new Agent(model), { journal })
    const { sink } = await model.next()
    sink.deltas([{ type: 'text', text: 'Half of ' }])
    leave(journal, abort)
    await pass(499)
    expect(model.asked[0]?.isClosed).toBe(false)
    await pass(1)
    const end = await segment
    expect(end).toMatchObject({
      status: 'aborted',
      output: { reason: 'Enough.', output: 'Half of ', finishReason: 'aborted' },
      seen: 1,
    })
    expect(model.asked[0]?.isClosed).toBe(true)
    expect(recordsOf(journal)['run/turn 1']).toEqual({
      deltas: [{ type: 'text', text: 'Half of ' }],
      end: { type: 'cut' },
      commands: numbered(abort),
    })
    const written = structuredClone(journal.stream)
    expect(await playSegment(new Agent(scriptedModel([])), { journal })).toEqual(end)
    expect(journal.stream).toEqual(written)
  })

  test('is looked for again and again, even if a look fails', async () => {
    const journal = newJournal()
    const model = silentModel()
    let looks = 0
    const but = ({ commands }: ReplayEngine): Partial<ReplayEngine> => ({
      commands: (after) => {
        looks += 1
        return looks === 2 || looks === 3 ? Promise.reject(new Error('No connection')) : commands(after)
      },
    })
    const segment = playSegment(new Agent(model), { journal, but })
    await model.next()
    expect(looks).toBe(2)
    for (const nth of [3, 4, 5]) {
      await pass(500)
      expect(looks).toBe(nth)
    }
    leave(journal, abort)
    await pass(500)
    expect(await segment).toMatchObject({ status: 'aborted', seen: 1 })
  })

  test('that was there before the segment ends it without a request', async () => {
    const journal = newJournal()
    leave(journal, steer('Hello?'), abort)
    const model = scriptedModel([])
    const end = await playSegment(new Agent(model), { journal })
    expect(end).toMatchObject({ status: 'aborted', output: { reason: 'Enough.', output: '' }, seen: 2 })
    expect(model.requests).toEqual([])
    expect(recordsOf(journal).begin).toMatchObject({ commands: numbered(steer('Hello?'), abort) })
    await idle()
    expect(recordsOf(journal)['run/turn 1']).toEqual({ deltas: [], end: { type: 'cut' }, commands: [] })
  })

  test('that comes during a call cuts it, and its tool gets the signal', async () => {
    const journal = newJournal()
    const { hold, signals } = heldTool()
    const agent = new Agent(scriptedModel([holding('c')]), { tools: [hold] })
    const segment = playSegment(agent, { journal })
    await reaches(signals, 1)
    leave(journal, abort)
    await pass(500)
    const end = await segment
    expect(end).toMatchObject({ status: 'aborted', seen: 1 })
    expect(signals[0]?.aborted).toBe(true)
    expect(aCall(journal, 'c')).toEqual({ type: 'cut', commands: numbered(abort) })
    const again = new Agent(scriptedModel([]), { tools: [hold] })
    expect(await playSegment(again, { journal })).toEqual(end)
    expect(signals).toHaveLength(1)
  })
})

describe('other commands', () => {
  test('that come during an answer are recorded with it, and reach the chart before its end', async () => {
    const journal = newJournal()
    const model = silentModel()
    const segment = playSegment(new Agent(model), { journal })
    const finish = [
      { type: 'text', text: 'Yes.' },
      { type: 'finish', reason: 'stop' },
    ] as const
    const first = await model.next()
    leave(journal, steer('Be brief.'))
    await pass(500)
    expect(first.isClosed).toBe(false)
    leave(journal, steer('In French.'))
    first.sink.deltas(finish)
    first.sink.end()
    const second = await model.next()
    second.sink.deltas(finish)
    second.sink.end()
    const end = await segment
    expect(end).toMatchObject({ status: 'complete', seen: 2 })
    expect(usersTexts(end)).toEqual(['Hi', 'Be brief.', 'In French.'])
    expect(recordsOf(journal)).toMatchObject({
      'run/turn 1': { end: { type: 'end' }, commands: numbered(steer('Be brief.'), steer('In French.')) },
      'run/turn 2': { end: { type: 'end' }, commands: [] },
    })
    expect(await playSegment(new Agent(scriptedModel([])), { journal })).toEqual(end)
  })

  test('that calls side by side find are given to the chart once', async () => {
    const journal = newJournal()
    const { hold, ends } = heldTool()
    const model = scriptedModel([holding('a', 'b'), 'Done.'])
    const segment = playSegment(new Agent(model, { tools: [hold], toolExecution: 'parallel' }), { journal })
    await reaches(ends, 2)
    leave(journal, steer('Be brief.'))
    for (const end of ends) end()
    const end = await segment
    const commands = numbered(steer('Be brief.'))
    expect([aCall(journal, 'a'), aCall(journal, 'b')]).toMatchObject([{ commands }, { commands }])
    expect(usersTexts(end)).toEqual(['Hi', 'Be brief.'])
    expect(end).toMatchObject({ status: 'complete', seen: 1 })
  })

  test.each(['with it', 'after it'])(
    'that are texts are kept by a decision that ends the run: %s',
    async (when) => {
      const work = tool({ name: 'work', description: 'Works', execute: () => 'done' })
      const model = scriptedModel([[{ toolCall: { id: 'c', name: 'work' } }]])
      const agent = new Agent(model, { tools: [work], maxSteps: 1, atLimit: 'ask' })
      const first = await playSegment(agent)
      if (first.status !== 'waiting') throw new Error(first.status)
      const journal = newJournal()
      leave(journal, { type: 'tool.reject', callId: 'limit' })
      if (when === 'with it') leave(journal, steer('Hello?'))
      let looks = 0
      const but = ({ commands }: ReplayEngine): Partial<ReplayEngine> => ({
        commands: (after, isEnd) => {
          if (isEnd && when === 'after it' && looks === 0) leave(journal, steer('Hello?'))
          if (isEnd) looks += 1
          return commands(after, isEnd)
        },
      })
      const end = await playSegment(agent, { journal, start: { from: { snapshot: first.snapshot } }, but })
      expect(end).toMatchObject({ status: 'complete', seen: 2 })
      expect(usersTexts(end)).toEqual(['Hi', 'Hello?'])
    },
  )

  test('that a step could not look up are there for the next one', async () => {
    const journal = newJournal()
    const { hold, ends } = heldTool()
    let failures = 0
    const but = ({ commands }: ReplayEngine): Partial<ReplayEngine> => ({
      commands: (after) => {
        failures -= 1
        return failures === 0 ? Promise.reject(new Error('No connection')) : commands(after)
      },
    })
    const model = scriptedModel([holding('a'), 'Done.', 'Short.'])
    const segment = playSegment(new Agent(model, { tools: [hold] }), { journal, but })
    await reaches(ends, 1)
    leave(journal, steer('Be brief.'))
    failures = 1
    ends[0]?.()
    const end = await segment
    expect(end).toMatchObject({ status: 'complete', seen: 1 })
    expect(usersTexts(end)).toEqual(['Hi', 'Be brief.'])
    expect(aCall(journal, 'a')).toMatchObject({ commands: [] })
  })

  test('that an earlier segment was given do not come again', async () => {
    const journal = newJournal()
    leave(journal, steer('One.'), steer('Two.'), steer('Three.'))
    const end = await playSegment(new Agent(scriptedModel(['Done.', 'Again.'])), {
      journal,
      start: { seen: 2 },
    })
    expect(usersTexts(end)).toEqual(['Hi', 'Three.'])
    expect(end.seen).toBe(3)
    expect(recordsOf(journal).begin).toMatchObject({ seen: 2, commands: [{ number: 3 }] })
  })
})

describe('a chart of a user that takes no abort', () => {
  const deaf: Orchestrator = {
    providerHint: 'deaf',
    create: ({ lifecycle }) =>
      setup({
        types: { input: {} as AgentInput, context: {} as { input: AgentInput; end?: AgentOutput } },
        actors: { run: lifecycle() },
      }).createMachine({
        id: 'deaf',
        context: ({ input }) => ({ input }),
        initial: 'Working',
        states: {
          Working: {
            invoke: {
              id: 'run',
              src: 'run',
              input: ({ context }) => context.input,
              onDone: { target: 'Over' },
            },
          },
          Over: { type: 'final', output: ({ event }) => ('output' in event ? event.output : undefined) },
        },
        output: ({ event }) => ('output' in event ? event.output : undefined) as AgentOutput,
      }),
  }

  test('gets the end of a request that was cut', async () => {
    const journal = newJournal()
    const model = silentModel()
    const segment = playSegment(new Agent(model, { orchestrator: deaf }), { journal })
    await model.next()
    leave(journal, abort)
    await pass(500)
    const end = await segment
    const error = { name: 'AbortedError', message: 'The request was aborted.' }
    expect(end).toMatchObject({ status: 'failed', output: { error }, seen: 1 })
    expect(await playSegment(new Agent(scriptedModel([]), { orchestrator: deaf }), { journal })).toEqual(end)
  })

  test('gets a result for a call that was cut', async () => {
    const journal = newJournal()
    const { hold, ends } = heldTool()
    const model = scriptedModel([holding('c'), 'Done.'])
    const segment = playSegment(new Agent(model, { orchestrator: deaf, tools: [hold] }), { journal })
    await reaches(ends, 1)
    leave(journal, abort)
    await pass(500)
    const end = await segment
    expect(end).toMatchObject({ status: 'complete', seen: 1 })
    const results = ('output' in end ? end.output.messages : []).flatMap(toolResultsOf)
    expect(results).toMatchObject([{ id: 'c', name: 'hold', isError: true }])
    expect(results[0]?.result).toContain('whether it took effect is unknown')
    // The tool is left to itself, with its own time.
    ends[0]?.()
    await idle()
  })
})
