/** Ends of a segment: the end of the run, a wait, or a machine that breaks. */
import { describe, expect, test } from 'vitest'
import { type AnyActorLogic, fromPromise, setup } from 'xstate'
import { z } from 'zod'
import type { SegmentEnd } from '../../src/durable/index.ts'
import {
  Agent,
  type AgentCommand,
  type AgentInput,
  type AgentOptions,
  type AgentOutput,
  ConfigurationError,
  type Orchestrator,
  tool,
} from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { newJournal } from '../dbos/world/memoryEngine.ts'
import { brief, idle } from '../engine/watching.ts'
import { leave, playSegment, silentModel } from './replaying.ts'

const said = (text: string) => ({ role: 'model', parts: [{ type: 'text', text }] })
const asked = { role: 'user', parts: [{ type: 'text', text: 'Hi' }] }

const wipe = tool({
  name: 'wipe',
  description: 'Wipes',
  needsApproval: true,
  input: z.object({ what: z.string() }),
  execute: ({ what }) => `wiped ${what}`,
})
const wiping = (id: string) => ({ toolCall: { id, name: 'wipe', arguments: { what: id } } })
const pendingWipe = (id: string) => ({
  type: 'toolCall',
  id,
  name: 'wipe',
  arguments: { what: id },
  kind: 'approval',
  question: expect.any(String),
})

describe('an end', () => {
  test('has the output of the run, and the number of the last command', async () => {
    const model = scriptedModel([[{ responseId: 'r1' }, { text: 'Done.' }, { usage: { inputTokens: 3 } }]])
    expect(await playSegment(new Agent(model), { start: { seen: 7 } })).toEqual({
      status: 'complete',
      output: {
        status: 'complete',
        id: 'r1',
        output: 'Done.',
        answer: 'Done.',
        messages: [asked, said('Done.')],
        finishReason: 'stop',
        rawFinishReason: 'stop',
        metadata: {},
        usage: { inputTokens: 3 },
      },
      seen: 7,
    })
  })

  test('of a run that failed has its error', async () => {
    const model = scriptedModel([[{ text: 'Half ' }, { error: { message: 'Overloaded', status: 529 } }]])
    const end = await playSegment(new Agent(model, { retry: { maxRetries: 0 } }))
    expect(end).toMatchObject({
      status: 'failed',
      output: { status: 'failed', error: { name: 'ModelError', status: 529 }, output: 'Half ' },
      seen: 0,
    })
  })
})

describe('a wait', () => {
  test('has what the run has reached, what it waits for, and all it needs to continue', async () => {
    const journal = newJournal()
    const model = scriptedModel([
      [{ responseId: 'r1' }, { text: 'May I?' }, wiping('a'), wiping('b')],
      'Done.',
    ])
    const agent = new Agent(model, { tools: [wipe] })
    const end = await playSegment(agent, { journal, start: { seen: 4 } })
    if (end.status !== 'waiting') throw new Error(end.status)
    const calls = [pendingWipe('a'), pendingWipe('b')]
    const parts = calls.map(({ kind: _, question: __, ...part }) => part)
    expect(end).toEqual({
      status: 'waiting',
      snapshot: expect.objectContaining({ status: 'active', value: 'AwaitingApproval' }),
      result: {
        status: 'waiting',
        id: 'r1',
        output: 'May I?',
        answer: 'May I?',
        messages: [asked, { role: 'model', parts: [{ type: 'text', text: 'May I?' }, ...parts] }],
        finishReason: 'toolCalls',
        rawFinishReason: 'tool_calls',
        metadata: {},
        pendingApproval: { calls },
      },
      seen: 4,
    })
    expect(JSON.parse(JSON.stringify(end.snapshot))).toEqual(end.snapshot)
    expect(journal.stream.flat().at(-1)).toEqual({
      id: '',
      output: '',
      messages: [],
      finishReason: 'toolCalls',
      metadata: {},
      pendingApproval: { calls },
    })
    // Of two decisions one is missing: the next segment comes to the same wait.
    const next = newJournal(journal)
    leave(next, { type: 'tool.approve', callId: 'a' })
    const second = await playSegment(agent, { journal: next, start: { from: { snapshot: end.snapshot } } })
    expect(second).toMatchObject({
      status: 'waiting',
      seen: 1,
      result: { pendingApproval: { calls: [pendingWipe('b')] } },
    })
  })

  test('does not begin while a person is being asked', async () => {
    let decide = (_: boolean) => {}
    const onApproval = () =>
      new Promise<boolean>((resolve) => {
        decide = resolve
      })
    const model = scriptedModel([[wiping('a')], 'Done.'])
    const segment = playSegment(new Agent(model, { tools: [wipe], onApproval }))
    await idle(10)
    decide(true)
    expect(await segment).toMatchObject({ status: 'complete', output: { output: 'Done.' } })
  })

  test('of a sub-agent begins when all beside it has ended', async () => {
    const journal = newJournal()
    const helper = new Agent(scriptedModel([[wiping('a')]]), { tools: [wipe] })
    let end = () => {}
    const slow = tool({
      name: 'slow',
      description: 'Takes its time',
      execute: () =>
        new Promise<string>((resolve) => {
          end = () => resolve('at last')
        }),
    })
    const model = scriptedModel([
      [
        { toolCall: { id: 'h', name: 'helper', arguments: { prompt: 'Wipe a' } } },
        { toolCall: { id: 's', name: 'slow' } },
      ],
    ])
    const tools = [helper.asTool({ name: 'helper', description: 'Helps' }), slow]
    let isOver = false
    const segment = playSegment(new Agent(model, { tools, toolExecution: 'parallel' }), { journal }).finally(
      () => {
        isOver = true
      },
    )
    await idle(10)
    expect(isOver).toBe(false)
    end()
    const waiting = await segment
    if (waiting.status !== 'waiting') throw new Error(waiting.status)
    expect(waiting.result.pendingApproval.calls).toMatchObject([{ name: 'wipe', arguments: { what: 'a' } }])
    expect(waiting.result.messages.map(({ role }) => role)).toEqual(['user', 'model'])
  })
})

const orchestrated = (create: Orchestrator['create'], options: AgentOptions = {}) => {
  const orchestrator: Orchestrator = { providerHint: 'own', create }
  return new Agent(scriptedModel(['Hello.']), { ...options, orchestrator })
}

describe('a machine that breaks', () => {
  /** A chart of a user that runs the lifecycle, and has more to do. */
  const chart = (parts: Parameters<Orchestrator['create']>[0], context: object, last: AnyActorLogic) =>
    setup({
      types: { events: {} as AgentCommand, input: {} as AgentInput, context: {} as { input?: AgentInput } },
      actors: { run: parts.lifecycle(), last },
    }).createMachine({
      id: 'own',
      context: ({ input }) => ({ ...context, input }),
      initial: 'Working',
      states: {
        Working: {
          invoke: {
            id: 'run',
            src: 'run',
            input: ({ context: { input } }) => input ?? {},
            onDone: 'Closing',
          },
        },
        Closing: { invoke: { id: 'last', src: 'last' } },
      },
    })

  const broken = (end: SegmentEnd) => {
    if (end.status !== 'failed' || end.output.status !== 'failed') throw new Error(end.status)
    return end.output
  }

  test('fails with its state, and what was reached', async () => {
    const journal = newJournal()
    const messages = [asked, said('So far.')]
    const last = fromPromise(() => Promise.reject(new RangeError('too far')))
    const agent = orchestrated((parts) => chart(parts, { messages }, last))
    const end = await playSegment(agent, { journal, start: { seen: 2 } })
    expect(broken(end)).toEqual({
      status: 'failed',
      error: {
        name: 'OrchestrationError',
        message: 'The machine "own" broke in Closing: too far',
        orchestrator: 'own',
        state: 'Closing',
        cause: { name: 'RangeError', message: 'too far' },
      },
      id: '',
      output: 'So far.',
      answer: 'So far.',
      messages,
      finishReason: 'error',
      metadata: {},
    })
    expect(end.seen).toBe(2)
    expect(brief(journal.stream.flat().at(-1) ?? Object.create(null))).toEqual({ finishReason: 'error' })
    const count = journal.stream.length
    expect(await playSegment(agent, { journal })).toEqual(end)
    expect(journal.stream).toHaveLength(count)
  })

  test.each<[string, AnyActorLogic, object]>([
    [
      'another logic, which has one state only',
      fromPromise(() => Promise.reject(new RangeError('too far'))),
      { name: 'OrchestrationError', message: 'The machine "own" broke in its only state: too far' },
    ],
    [
      'an end without an output',
      fromPromise(() => Promise.resolve({ status: 'complete' })),
      {
        name: 'OrchestrationError',
        message: 'The machine "own" broke in its only state: it ended without an AgentOutput',
      },
    ],
    [
      'an end with nothing',
      fromPromise(() => Promise.resolve(undefined)),
      { message: 'The machine "own" broke in its only state: it ended without an AgentOutput' },
    ],
    [
      'a refusal, which is said as it is',
      fromPromise(() => Promise.reject(new ConfigurationError('Set a name.'))),
      { name: 'ConfigurationError', message: 'Set a name.' },
    ],
  ])('%s', async (_, logic, error) => {
    const end = await playSegment(orchestrated(() => logic))
    expect(broken(end)).toMatchObject({ error, messages: [], output: '', finishReason: 'error' })
  })

  test('an end of any logic is that of the run, if it is one', async () => {
    const output: AgentOutput = {
      status: 'complete',
      id: '',
      output: 'Canned.',
      messages: [],
      finishReason: 'stop',
      metadata: {},
    }
    const end = await playSegment(orchestrated(() => fromPromise(async () => output)))
    expect(end).toEqual({ status: 'complete', output, seen: 0 })
  })

  test('data that cannot be stored, when the run has to wait', async () => {
    const journal = newJournal()
    const own: Orchestrator = {
      providerHint: 'own',
      create: (parts) =>
        chart(
          parts,
          { count: 1n },
          fromPromise(async () => {}),
        ),
    }
    const model = scriptedModel([[wiping('a')]])
    const end = await playSegment(new Agent(model, { orchestrator: own, tools: [wipe] }), { journal })
    expect(broken(end)).toMatchObject({ error: { name: 'OrchestrationError' } })
    expect(broken(end).error.message).toMatch(/^The machine "own" broke in Working: .*BigInt/)
    // What its runs have reached is not lost.
    expect(broken(end).messages.map(({ role }) => role)).toEqual(['user', 'model'])
  })

  test('a snapshot that this code refuses is left to other code, and its readers see nothing of that', async () => {
    const journal = newJournal()
    const model = scriptedModel([[wiping('a')]])
    const waiting = await playSegment(new Agent(model, { tools: [wipe] }))
    if (waiting.status !== 'waiting') throw new Error(waiting.status)
    const snapshot = structuredClone(waiting.snapshot)
    Object.assign(snapshot, { value: 'Elsewhere' })
    const end = await playSegment(new Agent(model, { tools: [wipe] }), {
      journal,
      start: { from: { snapshot }, seen: 3 },
    })
    expect(end).toEqual({
      status: 'abandoned',
      error: expect.objectContaining({ name: 'ConfigurationError' }),
      seen: 3,
    })
    expect(journal.stream.flat().map(brief)).toEqual([])
  })
})

describe('options', () => {
  const looking = (seen: unknown[]) =>
    tool({
      name: 'look',
      description: 'Looks',
      execute: (_, { context }) => {
        seen.push(context)
        return 'seen'
      },
    })
  const calling = () => scriptedModel([[{ toolCall: { id: 'c', name: 'look' } }], 'Done.'])

  test('tools get the stored context, or what is made of it', async () => {
    const seen: unknown[] = []
    const start = { context: { user: 'ann' } }
    await playSegment(new Agent(calling(), { tools: [looking(seen)] }), { start })
    const context = (stored: unknown) => ({ stored, db: 'open' })
    await playSegment(new Agent(calling(), { tools: [looking(seen)] }), { start, options: { context } })
    expect(seen).toEqual([{ user: 'ann' }, { stored: { user: 'ann' }, db: 'open' }])
  })

  test('onStep is called after each answer and each call that was recorded, and not for what was known', async () => {
    const journal = newJournal()
    const steps: unknown[] = []
    const onStep = (snapshot: unknown) => steps.push((snapshot as { value: unknown }).value)
    const tools = [looking([])]
    await playSegment(new Agent(calling(), { tools }), { journal, options: { onStep } })
    expect(steps).toEqual([{ ToolExecution: 'Working' }, { ToolExecution: 'Working' }, 'Complete'])
    await playSegment(new Agent(calling(), { tools }), { journal, options: { onStep } })
    expect(steps).toHaveLength(3)
  })
})

test('a request that the chart closed is not played to it', async () => {
  const journal = newJournal()
  const model = silentModel()
  const options: AgentOptions = { timeouts: { firstChunkMs: 1 }, retry: { maxRetries: 0 } }
  const end = await playSegment(new Agent(model, options), { journal })
  expect(end).toMatchObject({ status: 'failed', output: { error: { name: 'TimeoutError' } } })
  await idle()
  expect(model.asked.map(({ isClosed }) => isClosed)).toEqual([true])
  expect(await playSegment(new Agent(scriptedModel([]), options), { journal })).toEqual(end)
})
