import { describe, expect, test } from 'vitest'
import { type AnyActorLogic, createActor, fromCallback, fromPromise } from 'xstate'
import {
  type AgentCommand,
  type AgentInput,
  type AgentOutput,
  createPhasedChart,
  createPhasedMachine,
  historyOf,
  type PhasedOptions,
} from '../../machines/index.ts'
import { snapshotVersion } from '../../machines/stored/version.ts'
import { type ChatMessage, modelMessage, userMessage } from '../../src/messages/messages.ts'
import { eventList, lineOf } from '../engine/eventList.ts'
import { type AgentActor, endOf } from '../engine/watching.ts'

/** How a run ended, in short: what is left out is as in a run of a few words. */
const ended = (end: Partial<AgentOutput> & { messages?: ChatMessage[] } = {}): AgentOutput =>
  ({
    status: 'complete',
    id: '',
    output: '',
    messages: [],
    finishReason: 'stop',
    metadata: {},
    ...end,
  }) as AgentOutput

const failed = ended({
  status: 'failed',
  error: { name: 'ModelError', message: 'busy' },
  finishReason: 'error',
  rawFinishReason: 'overloaded',
})
const aborted = ended({ status: 'aborted', reason: 'enough', finishReason: 'aborted' })

/** A run that ends as the test says, and notes what it was asked. */
const runs = (ends: (AgentOutput | Error)[]) => {
  const asked: unknown[] = []
  const run = fromPromise<AgentOutput, AgentInput>(async ({ input }) => {
    asked.push(input)
    const end = ends[asked.length - 1] ?? ended()
    if (end instanceof Error) throw end
    return end
  })
  return { asked, run }
}

const outcome = async (options: PhasedOptions<object>, input: AgentInput = { prompt: 'Go' }) => {
  const actor: AgentActor = createActor(createPhasedMachine(options), { input })
  const events = eventList(actor)
  actor.start()
  const output = await endOf(actor)
  return { events, output, messages: output.messages.map(lineOf), context: actor.getSnapshot().context }
}

/** Two phases of runs that end like this. */
const inTwo = (...ends: (AgentOutput | Error)[]) => {
  const { asked, run } = runs(ends)
  const options: PhasedOptions<object> = {
    id: 'in-two',
    phases: {
      First: { run, input: ({ input }) => input, next: 'Second' },
      Second: {
        run,
        input: (state) => ({ history: historyOf(state), prompt: 'Again' }),
        next: 'Complete',
      },
    },
  }
  return { asked, options }
}

const question = userMessage('Go')

describe('what was asked for with the prompt', () => {
  const all = {
    id: 'run-1',
    system: 'Be brief.',
    settings: { temperature: 1 },
    maxSteps: 3,
    limits: { tokens: 9 },
  } satisfies AgentInput
  const each = Object.entries(all).map(([name, value]): [string, AgentInput] => [name, { [name]: value }])

  test.each<[string, AgentInput]>([['nothing', {}], ['everything', all], ...each])(
    'counts in every phase: %s',
    async (_, given) => {
      const { asked, options } = inTwo(ended({ messages: [question, modelMessage('Hi.')] }))
      await outcome(options, { prompt: 'Go', ...given })
      expect(asked).toStrictEqual([
        { prompt: 'Go', ...given },
        { ...given, history: [question, modelMessage('Hi.')], prompt: 'Again' },
      ])
    },
  )

  test('may be different in a phase', async () => {
    const { run, asked } = runs([])
    const input = () => ({ prompt: 'Go', maxSteps: 1, system: 'Be kind.' })
    await outcome({ id: 'x', phases: { Only: { run, input, next: 'Complete' } } }, { prompt: 'Hm', ...all })
    expect(asked).toStrictEqual([{ ...all, prompt: 'Go', maxSteps: 1, system: 'Be kind.' }])
  })

  test('is copied: what the caller does with it later does not count', async () => {
    const history = [question, modelMessage('Hi.')]
    const { run, asked } = runs([])
    const options: PhasedOptions<object> = {
      id: 'x',
      phases: { Only: { run, input: ({ input }) => input, next: 'Complete' } },
    }
    const actor = createActor(createPhasedMachine(options), { input: { prompt: 'Go', history } })
    history.pop()
    actor.start()
    await endOf(actor)
    expect(asked).toMatchObject([{ history: [question, modelMessage('Hi.')] }])
  })
})

describe('what the runs bring', () => {
  const first = ended({
    id: 'r1',
    messages: [question, modelMessage('Hi.')],
    usage: { inputTokens: 1, outputTokens: 2 },
    rawFinishReason: 'end',
    metadata: { thinking: 'Hm', a: 1 },
  })

  test('is put together', async () => {
    const second = ended({
      id: 'r2',
      messages: [userMessage('Again'), modelMessage('Ho.')],
      finishReason: 'length',
      usage: { inputTokens: 3 },
      metadata: { thinking: '!', b: 2 },
    })
    const { output, events } = await outcome(inTwo(first, second).options)
    expect(output).toEqual({
      status: 'complete',
      id: 'r2',
      output: 'Hi.\nHo.',
      answer: 'Ho.',
      messages: [question, modelMessage('Hi.'), userMessage('Again'), modelMessage('Ho.')],
      finishReason: 'length',
      usage: { inputTokens: 4, outputTokens: 2 },
      metadata: { thinking: 'Hm!', a: 1, b: 2 },
    })
    expect(events).toEqual(['chunk id r2 finishReason length usage {"inputTokens":4,"outputTokens":2}'])
  })

  test('keeps the last response id and the reason that there is', async () => {
    const { output } = await outcome(inTwo(ended(), { ...first, id: 'r1' }).options)
    expect(output).toMatchObject({ id: 'r1', rawFinishReason: 'end' })
    const other = await outcome(inTwo(first, ended()).options)
    expect(other.output).toEqual({ ...first, output: 'Hi.', answer: 'Hi.', rawFinishReason: undefined })
  })

  test('counts when the second one fails, is aborted or breaks', async () => {
    const kept = { id: 'r1', output: 'Hi.', answer: 'Hi.', usage: first.usage, metadata: first.metadata }
    const { messages: _, ...whenFailed } = (await outcome(inTwo(first, failed).options)).output
    expect(whenFailed).toEqual({
      ...kept,
      status: 'failed',
      error: { name: 'ModelError', message: 'busy' },
      finishReason: 'error',
      rawFinishReason: 'overloaded',
    })
    const { messages: __, ...whenAborted } = (await outcome(inTwo(first, aborted).options)).output
    expect(whenAborted).toEqual({ ...kept, status: 'aborted', reason: 'enough', finishReason: 'aborted' })
    const broken = await outcome(inTwo(first, new RangeError('bad')).options)
    expect(broken.output).toEqual({
      ...kept,
      status: 'failed',
      error: {
        name: 'OrchestrationError',
        message: 'bad',
        cause: { name: 'RangeError', message: 'bad' },
        orchestrator: 'in-two',
        state: 'Second',
      },
      messages: first.messages,
      finishReason: 'error',
      rawFinishReason: 'end',
    })
    expect(broken.events.at(-1)).toBe(
      'chunk id r1 finishReason error rawFinishReason end usage {"inputTokens":1,"outputTokens":2}',
    )
  })

  test('that were complete is not a failure', async () => {
    expect((await outcome(inTwo(first, ended()).options)).context).toStrictEqual({
      version: snapshotVersion,
      input: { prompt: 'Go' },
      messages: first.messages,
      totals: {
        responseId: 'r1',
        finishReason: 'stop',
        rawFinishReason: null,
        usage: first.usage,
        metadata: expect.any(Array),
      },
      failure: null,
      abortReason: '',
      answer: null,
      shown: '',
    })
  })

  test('does not count as an answer when the first one ends early', async () => {
    const { asked, options } = inTwo(failed)
    expect((await outcome(options)).output).toMatchObject({ status: 'failed', output: '', answer: '' })
    expect(asked).toHaveLength(1)
    expect((await outcome(inTwo(aborted).options)).output).toMatchObject({ status: 'aborted' })
    const broken = await outcome(inTwo(new Error('bad')).options)
    expect(broken.output).toMatchObject({ error: { state: 'First' } })
  })
})

describe('a question without an answer', () => {
  const done = ended({ messages: [question, modelMessage('Hi.')] })
  const again = userMessage('Again')
  const closing = (why: string) => [
    `chunk model: {"interrupted":"${why}"} id r`,
    `message model: {"interrupted":"${why}"}`,
  ]

  test.each<[string, AgentOutput[], string | undefined]>([
    ['failed', [done, { ...failed, id: 'r', messages: [again] }], 'error'],
    ['aborted', [done, { ...aborted, id: 'r', messages: [again] }], 'aborted'],
    [
      'failed after some words',
      [done, { ...failed, id: 'r', messages: [again, modelMessage('H')] }],
      undefined,
    ],
    ['failed without a prompt', [done, { ...failed, id: 'r' }], undefined],
    ['complete', [done, ended({ id: 'r', messages: [again] })], undefined],
    ['failed in the first phase', [{ ...failed, id: 'r', messages: [question] }], undefined],
    ['failed before any model spoke', [ended({ messages: [question] }), { ...failed, id: 'r' }], undefined],
  ])('is closed by a marked message: %s', async (_, ends, why) => {
    const { events, messages } = await outcome(inTwo(...ends).options)
    expect(events.slice(0, -1)).toEqual(why ? closing(why) : [])
    const last = messages.filter((line) => line.includes('interrupted'))
    expect(last).toEqual(why ? [`model: {"interrupted":"${why}"}`] : [])
    if (why) expect(messages).toEqual(['user: Go', 'model: Hi.', 'user: Again', ...last])
  })

  test('is closed, too, when the run continued from a message of the phase before', async () => {
    const results = userMessage('results')
    const ends = [ended({ messages: [question, modelMessage('Hi.'), results] }), { ...failed, id: 'r' }]
    const { events } = await outcome(inTwo(...ends).options)
    expect(events.slice(0, -1)).toEqual(closing('error'))
  })
})

describe('the ways from a phase', () => {
  type Counted = { count: number }
  const counting = (next: PhasedOptions<Counted>['phases'][string]['next']) => {
    const { run, asked } = runs([])
    const options: PhasedOptions<Counted> = {
      id: 'counting',
      data: { count: 0 },
      phases: {
        Counting: { run, input: ({ count }) => ({ prompt: String(count) }), next },
        Other: { run, input: () => ({ prompt: 'other' }), next: 'Complete' },
      },
      guards: {
        isFew: ({ count }) => count < 2,
        isStop: (_, { finishReason }: AgentOutput) => finishReason === 'stop',
        never: () => false,
      },
      takes: {
        add: ({ count }, { status }: AgentOutput) => ({
          change: { count: count + 1 },
          emitted: [{ type: 'tool.progress', callId: status, value: count }],
        }),
        nothing: () => ({}),
      },
    }
    return { options, asked }
  }

  test('lead back to itself while a guard is open, and keep what is taken', async () => {
    const { options, asked } = counting([
      { when: 'isFew', to: 'Counting', take: 'add' },
      { to: 'Complete', take: 'nothing' },
    ])
    const { events, context } = await outcome(options as PhasedOptions<object>)
    expect(asked).toEqual([{ prompt: '0' }, { prompt: '1' }, { prompt: '2' }])
    expect(context).toMatchObject({ count: 2 })
    expect(events).toEqual([
      'tool.progress complete 0',
      'tool.progress complete 1',
      'chunk finishReason stop',
    ])
  })

  test('are tried in order; the guards see the output', async () => {
    const { options, asked } = counting([
      { when: 'never', to: 'Failed' },
      { when: 'isStop', to: 'Other' },
      { to: 'Complete' },
    ])
    await outcome(options as PhasedOptions<object>)
    expect(asked).toEqual([{ prompt: '0' }, { prompt: 'other' }])
  })

  test('may lead to a failure without a reason', async () => {
    const { options } = counting([{ to: 'Failed' }])
    expect((await outcome(options as PhasedOptions<object>)).output).toMatchObject({
      status: 'failed',
      error: { message: 'The run failed without a reason.' },
    })
  })

  test('of a chart without phases: it is complete at once', () => {
    const actor = createActor(createPhasedMachine({ id: 'empty', phases: {} }), { input: { prompt: 'Go' } })
    expect(actor.start().getSnapshot()).toMatchObject({
      value: 'Complete',
      output: { output: '', messages: [] },
    })
  })

  test('of a phase that is the answer: it counts, not the text of all', async () => {
    const answering = (isAnswer: boolean) => {
      const { run } = runs([
        ended({ output: 'one', messages: [question, modelMessage('one')] }),
        ended({ output: 'two', messages: [userMessage('x'), modelMessage('two')] }),
      ])
      const input = () => ({ prompt: 'x' })
      return outcome({
        id: 'x',
        phases: { A: { run, input, isAnswer, next: 'B' }, B: { run, input, next: 'Complete' } },
      })
    }
    expect((await answering(true)).output).toMatchObject({ output: 'one', answer: 'one' })
    expect((await answering(false)).output).toMatchObject({ output: 'one\ntwo', answer: 'two' })
  })
})

describe('a phase that is a step', () => {
  const stepping = (
    step: AnyActorLogic,
    next: PhasedOptions<object>['phases'][string]['next'] = 'Complete',
  ) => ({
    id: 'stepping',
    phases: {
      Step: { description: 'Waits.', step, input: ({ input }: { input: AgentInput }) => input.prompt, next },
    },
    takes: { answer: (_: unknown, output: string) => ({ change: { answer: output } }) },
  })

  test('gets its input, and what it gives can be taken', async () => {
    const step = fromPromise<string, unknown>(async ({ input }) => `Got ${input}`)
    const { output } = await outcome(stepping(step, [{ to: 'Complete', take: 'answer' }]))
    expect(output).toMatchObject({ status: 'complete', output: 'Got Go', answer: 'Got Go' })
  })

  test('that breaks names the chart and the state', async () => {
    const { output } = await outcome(stepping(fromPromise(() => Promise.reject(new Error('bad')))))
    expect(output).toMatchObject({
      status: 'failed',
      finishReason: 'error',
      error: { orchestrator: 'stepping', state: 'Step' },
    })
  })

  test('ends at once when it is aborted', async () => {
    let isStopped = false
    const step = fromPromise<never>(({ signal }) => {
      signal.addEventListener('abort', () => {
        isStopped = true
      })
      return new Promise(() => {})
    })
    const actor = createActor(createPhasedMachine(stepping(step)), { input: { prompt: 'Go' } }).start()
    actor.send({ type: 'abort', reason: 'enough' })
    expect(actor.getSnapshot()).toMatchObject({
      value: 'Aborted',
      output: { status: 'aborted', reason: 'enough', finishReason: 'aborted' },
    })
    expect(isStopped).toBe(true)
  })
})

test('descriptions are those of the phases, for drawings', () => {
  const { run } = runs([])
  const chart = createPhasedChart({
    id: 'x',
    phases: {
      A: { description: 'Runs.', run, input: () => ({}), next: 'B' },
      B: { run, input: () => ({}), next: 'C' },
      C: { description: 'Steps.', step: run, input: () => ({}), next: 'D' },
      D: { step: run, input: () => ({}), next: 'Complete' },
    },
  })
  const { A, B, C, D } = chart.root.states
  expect([A, B, C, D].map((state) => state?.description)).toEqual(['Runs.', undefined, 'Steps.', undefined])
})

test('an abort counts, also when the run had ended and its parent did not know yet', () => {
  const { options } = inTwo()
  const actor = createActor(createPhasedMachine(options), { input: { prompt: 'Go' } }).start()
  actor.send({ type: 'abort', reason: 'enough' })
  const done = { type: 'xstate.done.actor.run', output: ended({ id: 'r1' }), actorId: 'run' }
  ;(actor as { send(event: object): void }).send(done)
  expect(actor.getSnapshot()).toMatchObject({
    value: 'Aborted',
    output: { status: 'aborted', reason: 'enough', finishReason: 'aborted', id: 'r1' },
  })
})

describe('commands to the whole', () => {
  const commands: AgentCommand[] = [
    { type: 'tool.approve', callId: 'a', remember: 'tool' },
    { type: 'tool.reject', callId: 'a', reason: 'no' },
    { type: 'tool.answer', callId: 'a', result: 'ok', isError: true },
    { type: 'steer', text: 'Be brief.' },
    { type: 'compact' },
    { type: 'abort', reason: 'enough' },
  ]

  test('reach the run that is under way', () => {
    const received: unknown[] = []
    const run = fromCallback(({ receive }) => receive((event) => received.push(event)))
    const machine = createPhasedMachine({
      id: 'x',
      phases: { Only: { run, input: () => ({}), next: 'Complete' } },
    })
    const actor = createActor(machine, { input: { prompt: 'Go' } }).start()
    for (const command of commands) actor.send(command)
    actor.stop()
    expect(received).toEqual(commands)
  })
})
