import { describe, expect, test } from 'vitest'
import { type AnyStateMachine, createMachine, fromPromise, setup } from 'xstate'
import { checkModel, type ModelOptions, type ModelProblem } from '../../src/testing/checkModel.ts'
import { allCharts } from './charts.ts'

// Rules for every state that the charts can be in, not only on the paths that a test lists.

describe('every chart', () => {
  test.each(allCharts)(
    '$id: each state can be reached, goes on to an end by itself, can be aborted, and no guard is idle',
    ({ variants, options }) => {
      const charts = variants.map(({ chart }) => chart)
      expect(checkModel(charts, options).problems).toEqual([])
    },
    60_000,
  )
})

describe('the checker', () => {
  const abort = { type: 'abort' }
  const go = { type: 'go' }

  /** What it finds, with every event tried in every state. */
  const problemsOf = (
    machine: AnyStateMachine,
    options: Partial<ModelOptions<AnyStateMachine>> = {},
  ): Omit<ModelProblem, 'why'>[] =>
    checkModel([machine], {
      inputs: [undefined],
      events: () => [go, abort],
      key: ({ value, status, context }) => JSON.stringify([value, status, context]),
      ...options,
    }).problems.map(({ kind, at }) => ({ kind, at }))

  const end = { type: 'final' } as const

  test('finds nothing wrong with a chart that is right', () => {
    const machine = createMachine({
      id: 'right',
      initial: 'A',
      on: { abort: '.Aborted' },
      states: { A: { on: { go: 'B' } }, B: { on: { go: 'Done' } }, Done: end, Aborted: end },
    })
    const exits = [{ events: [abort], leadsTo: 'Aborted' }]
    expect(problemsOf(machine, { exits })).toEqual([])
  })

  test('finds a state that nothing leads to, and the transition that leaves it', () => {
    const machine = createMachine({
      id: 'wrong',
      initial: 'A',
      states: { A: { on: { go: 'Done' } }, Lost: { on: { go: 'Done' } }, Done: end },
    })
    expect(problemsOf(machine)).toEqual([
      { kind: 'unreachable', at: 'wrong.Lost' },
      { kind: 'neverTaken', at: 'wrong.Lost on go' },
    ])
  })

  test('finds a child that no initial state and no transition opens', () => {
    const machine = createMachine({
      id: 'wrong',
      initial: 'A',
      states: { A: { on: { go: 'B.Second' } }, B: { initial: 'First', states: { First: {}, Second: end } } },
    })
    expect(problemsOf(machine, { isEnd: ({ value }) => value !== 'A' })).toEqual([
      { kind: 'unreachable', at: 'wrong.B.First' },
    ])
  })

  test('finds a state without a way to an end, also where an abort would be one', () => {
    const machine = createMachine({
      id: 'wrong',
      initial: 'A',
      on: { abort: '.Aborted' },
      states: { A: { on: { go: 'Trap' } }, Trap: {}, Aborted: end },
    })
    const exits = [{ events: [abort], leadsTo: 'Aborted' }]
    expect(problemsOf(machine)).toEqual([])
    expect(problemsOf(machine, { exits })).toEqual([
      { kind: 'stuck', at: '["A","active",{}]' },
      { kind: 'stuck', at: '["Trap","active",{}]' },
    ])
  })

  test('finds two states that lead to each other and nowhere else', () => {
    const machine = createMachine({
      id: 'wrong',
      initial: 'A',
      states: {
        A: { on: { go: 'B', abort: 'Done' } },
        B: { on: { go: 'C' } },
        C: { on: { go: 'B' } },
        Done: end,
      },
    })
    expect(problemsOf(machine)).toEqual([
      { kind: 'stuck', at: '["B","active",{}]' },
      { kind: 'stuck', at: '["C","active",{}]' },
    ])
  })

  const done = { type: 'xstate.done.actor.work', output: undefined }
  const failed = { type: 'xstate.error.actor.work', error: 'no' }
  const { createMachine: createWorker } = setup({ actors: { work: fromPromise(async () => {}) } })

  test('finds a failing child that has no listener: a crash is not an end', () => {
    const machine = createWorker({
      id: 'wrong',
      initial: 'A',
      states: { A: { invoke: { id: 'work', src: 'work', onDone: 'Done' } }, Done: end },
    })
    expect(problemsOf(machine, { events: () => [done, failed] })).toEqual([
      { kind: 'stuck', at: '["A","error",{}]' },
    ])
  })

  test('finds a state that does not take the abort, one that is led elsewhere by it, and the way to both', () => {
    const machine = createMachine({
      id: 'wrong',
      initial: 'A',
      states: {
        A: { on: { go: 'B', abort: 'Aborted' } },
        B: { on: { go: 'C' } },
        C: { on: { go: 'Done', abort: 'Done' } },
        Done: end,
        Aborted: end,
      },
    })
    const { problems } = checkModel([machine], {
      inputs: [undefined],
      events: () => [go, abort],
      key: ({ value }) => String(value),
      exits: [{ events: [abort], leadsTo: 'Aborted' }],
    })
    expect(problems).toEqual([
      { kind: 'closedExit', at: 'B', why: 'abort is not taken after the start, go' },
      { kind: 'closedExit', at: 'C', why: 'the exit leads to "Done" after the start, go, go' },
    ])
  })

  test('follows an abort that is passed on to a child, and asks for it only where it is promised', () => {
    const machine = createWorker({
      id: 'right',
      initial: 'Working',
      states: {
        Working: {
          invoke: { id: 'work', src: 'work', onDone: 'Aborted', onError: 'Late' },
          on: { abort: { actions: () => {} } },
        },
        Late: { on: { go: 'Aborted' } },
        Aborted: end,
      },
    })
    const exit = { events: [abort, done], leadsTo: 'Aborted' }
    const when = ({ value }: { value: unknown }) => value === 'Working'
    const events = (snapshot: { value: unknown }) => (when(snapshot) ? [abort, done, failed] : [go])
    expect(problemsOf(machine, { events, exits: [{ ...exit, when }] })).toEqual([])
    expect(problemsOf(machine, { events, exits: [exit] })).toEqual([
      { kind: 'closedExit', at: '["Late","active",{}]' },
    ])
  })

  test('finds a guard that is always true, and the alternative that is dead behind it', () => {
    const machine = createMachine({
      id: 'wrong',
      context: { count: 0 },
      initial: 'A',
      states: {
        A: {
          on: { go: [{ guard: ({ context }) => context.count >= 0, target: 'Done' }, { target: 'Done' }] },
        },
        Done: end,
      },
    })
    expect(problemsOf(machine)).toEqual([
      { kind: 'deadGuard', at: 'wrong.A on go #1' },
      { kind: 'neverTaken', at: 'wrong.A on go #2' },
    ])
  })

  test('finds a guard that is never true', () => {
    const machine = setup({ guards: { never: () => false } }).createMachine({
      id: 'wrong',
      initial: 'A',
      states: { A: { always: { guard: 'never', target: 'Done' }, on: { go: 'Done' } }, Done: end },
    })
    expect(problemsOf(machine)).toEqual([{ kind: 'deadGuard', at: 'wrong.A always' }])
  })

  test('counts what any variant of a chart reaches', () => {
    const variant = (isShort: boolean) =>
      createMachine({
        id: 'right',
        initial: 'A',
        states: {
          A: { always: [{ guard: () => isShort, target: 'Done' }, { target: 'B' }] },
          B: { on: { go: 'Done' } },
          Done: end,
        },
      })
    const options = {
      inputs: [undefined],
      events: () => [go],
      key: ({ value }: { value: unknown }) => String(value),
    }
    expect(checkModel([variant(true), variant(false)], options).problems).toEqual([])
    expect(checkModel([variant(true)], options).problems.map(({ at }) => at)).toEqual([
      'right.B',
      'right.A always #1',
      'right.A always #2',
      'right.B on go',
    ])
  })

  test('finds what must never happen, and the path to it', () => {
    const machine = createMachine({
      id: 'wrong',
      initial: 'A',
      states: {
        A: { on: { go: 'B', abort: 'Done' } },
        B: { on: { go: 'C', abort: 'A' } },
        C: end,
        Done: end,
      },
    })
    const arrives =
      (state: string) =>
      ({ after }: { after: { value: unknown } }) =>
        after.value === state
    const never = [
      { name: 'C after B', after: arrives('B'), bad: arrives('C') },
      {
        name: 'Done after B, unless A comes again',
        after: arrives('B'),
        until: arrives('A'),
        bad: arrives('Done'),
      },
      { name: 'Done at all', bad: arrives('Done') },
    ]
    const { problems } = checkModel([machine], {
      inputs: [undefined],
      events: () => [go, abort],
      key: ({ value }) => String(value),
      never,
    })
    expect(problems).toEqual([
      { kind: 'happens', at: 'C after B', why: 'it happens after the start, go, go' },
      { kind: 'happens', at: 'Done at all', why: 'it happens after the start, abort' },
    ])
  })

  test('leaves the machine as it was', () => {
    const machine = createMachine({
      id: 'right',
      initial: 'A',
      states: { A: { on: { go: { guard: () => true, target: 'Done' } } }, Done: end },
    })
    const [before] = machine.root.states.A?.transitions.get('go') ?? []
    const guard = before?.guard
    problemsOf(machine)
    expect(before?.guard).toBe(guard)
  })
})
