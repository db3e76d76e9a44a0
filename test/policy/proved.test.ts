/** Whatever XState can say in a policy, a proof holds in every run, or the prover says that it did not follow. */
import { expect, test } from 'vitest'
import { type AnyStateMachine, assign, createMachine, enqueueActions, fromPromise, raise } from 'xstate'
import { provePolicy } from '../../src/testing/provePolicy.ts'
import { dice } from '../proof/dice.ts'
import { isWhole, proofSeed } from '../proof/sample.ts'
import { randomPolicy } from './randomPolicy.ts'
import { neverAfter, randomRuns } from './randomRuns.ts'

const names = ['a', 'b', 'c']
const taken = { actions: () => {} }
const all = { 'a.call': taken, 'b.call': taken, 'c.call': taken }
const count = assign({ n: ({ context }: { context: { n: number } }) => context.n + 1 })
const fine = fromPromise(async () => 'fine')
const failing = fromPromise(async () => Promise.reject(new Error('no')))

/** Charts of very different kinds, each with something that is easily missed. */
const policies: Record<string, AnyStateMachine> = {
  'a taint': createMachine({
    initial: 'Clean',
    states: { Clean: { on: { ...all, 'a.done': 'Tainted' } }, Tainted: { on: { 'c.call': taken } } },
  }),
  'a taint that a later result forgets': createMachine({
    initial: 'Clean',
    states: {
      Clean: { on: { ...all, 'a.done': 'Tainted' } },
      Tainted: { on: { 'b.done': 'Clean', 'c.call': taken } },
    },
  }),
  'a shallow history': createMachine({
    initial: 'Work',
    states: {
      Work: {
        initial: 'One',
        states: {
          One: { on: { ...all, 'a.done': 'Two' } },
          Two: { on: { 'c.call': taken } },
          last: { type: 'history' },
        },
        on: { 'c.done': 'Break' },
      },
      Break: { on: { 'c.call': 'Work.last', 'b.call': 'Work' } },
    },
  }),
  'a deep history': createMachine({
    initial: 'Work',
    states: {
      Work: {
        initial: 'Outer',
        states: {
          Outer: {
            initial: 'One',
            states: { One: { on: { ...all, 'a.done': 'Two' } }, Two: { on: { 'c.call': taken } } },
          },
          last: { type: 'history', history: 'deep' },
        },
        on: { 'c.done': 'Break', 'c.failed': 'Break' },
      },
      Break: { on: { 'c.call': 'Work.last' } },
    },
  }),
  'a guarded always': createMachine({
    context: { n: 0 },
    initial: 'Open',
    states: {
      Open: {
        on: { ...all, 'a.done': { actions: count } },
        always: { guard: ({ context }) => context.n > 1, target: 'Shut' },
      },
      Shut: { on: { 'c.call': taken } },
    },
  }),
  'an event that it raises': createMachine({
    initial: 'Open',
    states: {
      Open: { on: { ...all, 'a.done': { actions: raise({ type: 'shut' }) }, shut: 'Shut' } },
      Shut: { on: { 'c.call': { actions: raise({ type: 'open' }) }, open: 'Open' } },
    },
  }),
  'events that it enqueues': createMachine({
    initial: 'Open',
    states: {
      Open: {
        on: {
          ...all,
          'a.done': { actions: enqueueActions(({ enqueue }) => enqueue.raise({ type: 'shut' })) },
          shut: 'Shut',
        },
      },
      Shut: { on: { 'c.call': taken } },
    },
  }),
  'a raise with an event that depends on data': createMachine({
    initial: 'Open',
    states: {
      Open: {
        on: {
          ...all,
          'a.done': { actions: raise(({ event }) => ({ type: `x.${event.type}` })) },
          'x.a.done': 'Shut',
        },
      },
      Shut: { on: { 'c.call': taken } },
    },
  }),
  'a nested final state': createMachine({
    initial: 'Work',
    states: {
      Work: {
        initial: 'One',
        states: { One: { on: { ...all, 'a.done': 'End' } }, End: { type: 'final' } },
        onDone: 'After',
      },
      After: { on: { 'c.call': taken } },
    },
  }),
  'final states of two regions': createMachine({
    initial: 'Both',
    states: {
      Both: {
        type: 'parallel',
        states: {
          A: { initial: 'Open', states: { Open: { on: { 'a.done': 'End' } }, End: { type: 'final' } } },
          B: { initial: 'Open', states: { Open: { on: { 'b.done': 'End' } }, End: { type: 'final' } } },
        },
        on: all,
        onDone: 'After',
      },
      After: { on: { 'c.call': taken } },
    },
  }),
  'a final state': createMachine({
    initial: 'Open',
    states: { Open: { on: { ...all, 'a.done': 'Over' } }, Over: { type: 'final' } },
  }),
  'a final state that refuses': createMachine({
    initial: 'Open',
    states: { Open: { on: { ...all, 'a.done': 'Over' } }, Over: { type: 'final', tags: 'refuse' } },
  }),
  wildcards: createMachine({
    initial: 'Open',
    states: { Open: { on: { '*': taken, 'a.done': 'Shut' } }, Shut: { on: { 'c.*': taken } } },
  }),
  'a wildcard that takes the end of a check': createMachine({
    initial: 'Open',
    states: {
      Open: { on: { ...all, 'b.call': 'Checking', 'a.done': 'Shut' } },
      Checking: { tags: 'hold', invoke: { src: failing }, on: { '*': 'Open' } },
      Shut: { on: { 'c.call': taken } },
    },
  }),
  'a delay in a hold': createMachine({
    initial: 'Open',
    states: {
      Open: { on: { ...all, 'b.call': 'Waiting', 'a.done': 'Shut' } },
      Waiting: { tags: 'hold', after: { 1: 'Open' } },
      Shut: { on: { 'c.call': taken } },
    },
  }),
  'a check that forgets a taint': createMachine({
    initial: 'Open',
    states: {
      Open: { on: { ...all, 'a.done': 'Shut' } },
      Shut: { on: { 'c.call': 'Checking' } },
      Checking: { tags: 'hold', invoke: { src: fine, onDone: 'Open', onError: 'Shut' } },
    },
  }),
  'data of its input': createMachine({
    context: ({ input }: { input: unknown }) => ({ n: String(Object(input).id).length }),
    initial: 'Open',
    states: {
      Open: {
        on: {
          ...all,
          'a.done': [
            { guard: ({ context }: { context: { n: number } }) => context.n > 1000, target: 'Open' },
            { target: 'Shut' },
          ],
        },
      },
      Shut: { on: { 'c.call': taken } },
    },
  }),
  'a region that vetoes': createMachine({
    type: 'parallel',
    states: {
      Calls: { on: all },
      Taint: {
        initial: 'Clean',
        states: {
          Clean: { on: { 'a.done': 'Tainted' } },
          Tainted: { tags: 'refuse', on: { 'c.refused': 'Clean' } },
        },
      },
    },
  }),
  'regions that look at each other': createMachine({
    type: 'parallel',
    states: {
      X: { initial: 'One', states: { One: { on: { 'a.done': 'Two' } }, Two: {} } },
      Y: {
        initial: 'Open',
        states: {
          Open: { on: all, always: { guard: ({ self: _ }: never) => false, target: 'Shut' } },
          Shut: { on: { 'c.call': taken } },
        },
      },
    },
  }),
  'a state that is left and entered again': createMachine({
    context: { n: 0 },
    initial: 'Open',
    states: {
      Open: {
        entry: count,
        on: { ...all, 'a.done': { target: 'Open', reenter: true } },
        always: { guard: ({ context }) => context.n >= 2, target: 'Shut' },
      },
      Shut: { tags: 'approval', on: { 'c.call': taken, 'c.rejected': 'Open' } },
    },
  }),
  'an approval that a person gives': createMachine({
    initial: 'Open',
    states: {
      Open: { on: { ...all, 'a.call': 'Asking' } },
      Asking: { tags: 'approval', on: { 'a.approved': 'Given', 'a.rejected': 'Open' } },
      Given: { on: { 'b.call': taken, 'a.done': 'Open', 'a.failed': 'Open' } },
    },
  }),
}

test.each(Object.entries(policies))('%s', async (_, machine) => {
  const proof = provePolicy(machine, { tools: names, never: neverAfter(names), maxStates: 3000 })
  const { values, pairs } = await randomRuns(machine, names, isWhole ? 60 : 12, dice(proofSeed))
  const proved = proof.claims.filter(({ verdict }) => verdict === 'proved').map(({ name }) => name)
  expect(proved.filter((pair) => pairs.has(pair))).toEqual([])
  if (proof.notes.length === 0) for (const value of values) expect(proof.states).toContain(value)
})

test('charts of any shape', async () => {
  const random = dice(proofSeed)
  let proved = 0
  for (let index = 0; index < (isWhole ? 400 : 25); index += 1) {
    const machine = randomPolicy(names, random)
    const proof = provePolicy(machine, { tools: names, never: neverAfter(names), maxStates: 2000 })
    const { values, pairs } = await randomRuns(machine, names, 4, random)
    const holds = proof.claims.filter(({ verdict }) => verdict === 'proved').map(({ name }) => name)
    proved += holds.length
    expect(holds.filter((pair) => pairs.has(pair))).toEqual([])
    if (proof.notes.length === 0) for (const value of values) expect(proof.states).toContain(value)
  }
  expect(proved).toBeGreaterThan(0)
}, 600_000)
