/** A proof of the prover holds in every run. */
import { describe, expect, test } from 'vitest'
import { type AnyStateMachine, assign, createMachine, enqueueActions, fromPromise, raise } from 'xstate'
import { type PolicyStep, provePolicy } from '../../src/testing/provePolicy.ts'
import { dice } from '../proof/dice.ts'
import { isWhole, proofSeed } from '../proof/sample.ts'
import { neverAfter, randomRuns } from './randomRuns.ts'
import { refundDesk } from './refunds.ts'

const taken = { actions: () => {} }
const tools = ['verify_customer', 'refund']

describe('a claim', () => {
  const early = ({ event, seen }: PolicyStep) => event === 'refund.call' && !seen.has('verify_customer.done')
  const { policy } = refundDesk()

  test('that holds in every run is proved', () => {
    const proof = provePolicy(policy, {
      tools,
      never: { 'refund before verification': early },
      reachable: { 'a refund': ({ event }) => event === 'refund.call' },
    })
    expect(proof).toMatchObject({ isProved: true, notes: [], lints: [] })
    expect(proof.claims[0]).toEqual({ name: 'refund before verification', kind: 'never', verdict: 'proved' })
    expect([...proof.states].toSorted()).toEqual(['"Asking"', '"Unknown"', '"Verified"'])
  })

  test('that a run breaks is refuted, with the shortest story', () => {
    const open = createMachine({
      initial: 'A',
      states: { A: { on: { 'verify_customer.call': 'B' } }, B: { on: { 'refund.call': taken } } },
    })
    const { isProved, claims } = provePolicy(open, { tools, never: { early } })
    expect(isProved).toBe(false)
    expect(claims).toEqual([
      {
        name: 'early',
        kind: 'never',
        verdict: 'refuted',
        witness: ['verify_customer.call → B', 'refund.call → B'],
        steps: [
          { event: 'verify_customer.call', state: 'B' },
          { event: 'refund.call', state: 'B' },
        ],
      },
    ])
  })

  test.each<[string, Record<string, (step: PolicyStep) => boolean>, string]>([
    ['it compares', { a: ({ event }) => event === 'refnd.call' }, 'did you mean "refund.call"?'],
    [
      'it compares, and does not look like one',
      { a: ({ event }) => event !== 'anser' },
      'did you mean "answer"?',
    ],
    ['of a list', { a: ({ event }) => ['refund.dne', 'answer'].includes(event) }, '"refund.dne"'],
    [
      'it compares, of a tool that is not listed',
      { a: ({ event }) => event === 'mail.call' },
      'of no tool in "tools"',
    ],
    ['it has seen', { a: ({ seen }) => seen.has(['refund', 'don'].join('.')) }, '"refund.done"'],
  ])('about an event that no step has is refused: one that %s', (_, claims, message) => {
    for (const kind of ['never', 'always', 'reachable'])
      expect(() => provePolicy(policy, { tools, [kind]: claims })).toThrow(message)
  })

  test('about an event that an action raises is refused: it is a part of the step that raised it', () => {
    const raising = createMachine({
      initial: 'A',
      states: { A: { on: { 'refund.call': { actions: raise({ type: 'over' }) }, over: 'B' } }, B: {} },
    })
    const never = { late: ({ event, seen }: PolicyStep) => event === 'refund.call' && seen.has('over') }
    expect(() => provePolicy(raising, { tools, never })).toThrow('"over", an event that no step has')
  })

  test('may ask for questions, refusals and the ends of checks', () => {
    const checking = createMachine({
      initial: 'A',
      states: {
        A: { on: { 'refund.call': 'B' } },
        B: {
          tags: 'hold',
          invoke: { id: 'check', src: fromPromise(async () => 1), onDone: 'A', onError: 'A' },
        },
      },
    })
    const asked = ['refund.call asked', 'prompt refused', 'xstate.done.actor.check', 'steer.refused']
    const never = { any: ({ seen }: PolicyStep) => asked.filter((each) => seen.has(each)).length > 4 }
    expect(provePolicy(checking, { tools, never }).isProved).toBe(true)
  })

  test('that only a guard prevents is possible, and the story names the guard', () => {
    const guarded = createMachine({ on: { 'refund.call': { guard: { type: 'isSmall' }, ...taken } } })
    const { claims } = provePolicy(guarded, { tools, never: { early } })
    expect(claims[0]).toMatchObject({ verdict: 'possible', witness: ['refund.call [isSmall] → '] })
  })

  test('about every step is always, and one about a step that no run takes is not reachable', () => {
    const closed = createMachine({
      initial: 'A',
      states: { A: { on: { 'verify_customer.call': taken } }, B: { on: { 'refund.call': taken } } },
    })
    const { claims, lints } = provePolicy(closed, {
      tools,
      always: { 'stays in A': ({ state }) => state === 'A' },
      reachable: { refund: ({ event }) => event === 'refund.call' },
    })
    expect(claims.map(({ verdict }) => verdict)).toEqual(['proved', 'refuted'])
    expect(lints).toEqual(['No run reaches the state B.'])
  })

  test('is unknown while something is not followed', () => {
    const raising = createMachine({
      on: { 'refund.call': { actions: enqueueActions(({ enqueue }) => enqueue.raise({ type: 'x' })) } },
    })
    const { claims, notes, isProved } = provePolicy(raising, {
      tools,
      never: { 'a prompt': ({ event }) => event === 'prompt' },
    })
    expect([claims[0]?.verdict, isProved]).toEqual(['unknown', false])
    expect(notes).toEqual(['enqueueActions in the root is not followed'])
  })

  test('no call ends twice: what would need two ends of one call is not reached', () => {
    const twice = createMachine({
      initial: 'A',
      states: {
        A: { on: { 'verify_customer.call': 'Asked' } },
        Asked: { on: { 'verify_customer.done': 'Once' } },
        Once: { on: { 'verify_customer.done': 'Twice' } },
        Twice: { on: { 'refund.call': taken } },
      },
    })
    const never = { refund: ({ event, from }: PolicyStep) => event === 'refund.call' && from === 'Twice' }
    expect(provePolicy(twice, { tools, never }).claims[0]?.verdict).toBe('proved')
  })

  test('two calls of one turn end twice', () => {
    const both = createMachine({
      initial: 'A',
      states: {
        A: { on: { 'verify_customer.call': taken, 'verify_customer.done': 'Once' } },
        Once: { on: { 'verify_customer.done': 'Twice' } },
        Twice: { on: { 'refund.call': taken } },
      },
    })
    const { claims } = provePolicy(both, { tools, never: { refund: ({ event }) => event === 'refund.call' } })
    expect(claims[0]).toMatchObject({
      verdict: 'refuted',
      witness: [
        'verify_customer.call → A',
        'verify_customer.call → A',
        'verify_customer.done → Once',
        'verify_customer.done → Twice',
        'refund.call → Twice',
      ],
    })
  })

  test('follows what happens to a call that no state mentions, whatever the option others says', () => {
    const refused = createMachine({
      initial: 'A',
      states: { A: { on: { 'verify_customer.refused': 'B' } }, B: { on: { 'refund.call': taken } } },
    })
    const { claims } = provePolicy(refused, {
      tools,
      never: { refund: ({ event }) => event === 'refund.call' },
    })
    expect(claims[0]?.verdict).toBe('possible')
  })

  test.each([
    ['events of a child by a wildcard', { on: { 'child.*': '.Open' } }, "'child.*' is not followed"],
    ['parts of XState that are newer', { route: {} }, '"route" of the root is not followed'],
  ])('is unknown while something is not followed: %s', (_, part, note) => {
    const machine = createMachine({ initial: 'Open', states: { Open: {} }, ...part } as never)
    const { claims, notes } = provePolicy(machine, { tools, never: { x: () => false } })
    expect(claims[0]?.verdict).toBe('unknown')
    expect(notes.join()).toContain(note)
  })

  test('finds the race of two calls of one turn: the taint is forgotten by a result that comes later', () => {
    const leaky = createMachine({
      initial: 'Clean',
      states: {
        Clean: { on: { 'web.call': taken, 'web.done': 'Tainted', 'mail.call': taken } },
        Tainted: { on: { 'mail.done': 'Clean' } },
      },
    })
    const { claims } = provePolicy(leaky, {
      tools: ['web', 'mail'],
      never: { 'mail after the web': ({ event, seen }) => event === 'mail.call' && seen.has('web.done') },
    })
    expect(claims[0]).toMatchObject({
      verdict: 'refuted',
      witness: [
        'web.call → Clean',
        'mail.call → Clean',
        'web.done → Tainted',
        'mail.done → Clean',
        'mail.call → Clean',
      ],
    })
  })

  test('follows a hold: the call passes only if the check lets it', () => {
    const held = createMachine({
      initial: 'Open',
      states: {
        Open: { on: { 'refund.call': 'Checking' } },
        Checking: {
          tags: 'hold',
          invoke: {
            src: 'check',
            onDone: [{ guard: 'isFine', target: 'Fine' }, { target: 'Bad' }],
            onError: 'Bad',
          },
        },
        Fine: { on: { 'refund.done': 'Open' } },
        Bad: { tags: 'refuse', on: { 'refund.refused': 'Open' } },
      },
    })
    const { claims } = provePolicy(held, {
      tools: ['refund'],
      never: {
        'a refund that leads elsewhere': ({ event, state }) => event === 'refund.call' && state !== 'Fine',
      },
      reachable: { refused: ({ event }) => event === 'refund.refused' },
    })
    expect(claims.map(({ verdict }) => verdict)).toEqual(['proved', 'possible'])
  })
})

describe('the lints find', () => {
  const lintsOf = (machine: AnyStateMachine) => provePolicy(machine, { tools: ['a'] }).lints.join('\n')

  test.each<[string, AnyStateMachine, string]>([
    [
      'regions that permit by or',
      createMachine({
        type: 'parallel',
        states: { A: { on: { 'a.call': taken } }, B: { on: { 'a.call': { guard: 'g', ...taken } } } },
      }),
      'in several regions',
    ],
    [
      'a refusal that nothing leaves',
      createMachine({
        initial: 'A',
        states: { A: { on: { 'a.call': 'B' } }, B: { tags: 'refuse' } },
      }),
      'nothing leaves it',
    ],
    [
      'after',
      createMachine({ initial: 'A', states: { A: { after: { 5: 'B' } }, B: {} } }),
      'lost when a run is restored',
    ],
    [
      'an approval without a handler',
      createMachine({ initial: 'A', states: { A: { tags: 'approval' } } }),
      'takes no call',
    ],
    [
      'a hold that nothing ends',
      createMachine({ initial: 'A', states: { A: { tags: 'hold' } } }),
      'invokes nothing',
    ],
    [
      'a check without onError',
      createMachine({
        initial: 'A',
        states: { A: { tags: 'hold', invoke: { src: fromPromise(async () => 1), onDone: 'B' } }, B: {} },
      }),
      'has no onError',
    ],
    [
      'a tag that no run looks at',
      createMachine({ initial: 'A', states: { A: { on: { 'a.call': 'B' } }, B: { tags: 'refused' } } }),
      'write "refuse"',
    ],
    ['a wildcard', createMachine({ on: { '*': taken } }), 'takes every call'],
    [
      'a check that nothing waits for',
      createMachine({
        initial: 'A',
        states: { A: { invoke: { src: 'check', onDone: 'B' }, on: { 'a.call': taken } }, B: {} },
      }),
      'calls pass while it runs',
    ],
    ['an empty transition', createMachine({ on: { 'a.call': {}, 'b.call': taken } }), 'which refuses it'],
  ])('%s', (_, machine, sentence) => {
    expect(lintsOf(machine)).toContain(sentence)
  })
})

test('gives up on a policy with too many states, and proves nothing then', () => {
  const { policy } = refundDesk()
  const { notes, isProved } = provePolicy(policy, { tools, never: { x: () => false }, maxStates: 2 })
  expect([notes, isProved]).toEqual([['it has more than 2 states'], false])
})

test('gives up on a policy whose states have too many steps, and proves nothing then', () => {
  const regions = Array.from({ length: 10 }, (_, index) => {
    const on = (target: string, guard?: string) => ({
      on: { [`t${index}.call`]: { target, ...(guard && { guard }) } },
    })
    return [`R${index}`, { initial: 'X', states: { X: on('Y', 'g'), Y: on('Z', 'h'), Z: on('X') } }]
  })
  const wide = createMachine({ type: 'parallel', states: Object.fromEntries(regions) })
  const names = regions.map((_, index) => `t${index}`)
  const { notes, claims } = provePolicy(wide, { tools: names, never: { x: () => false }, maxStates: 1000 })
  expect(notes).toEqual([expect.stringMatching(/^it has more than (1000 states|15000 steps)$/)])
  expect(claims[0]?.verdict).toBe('unknown')
})

test('gives up on a policy that raises its own event for ever, and proves nothing then', () => {
  const on = { 'a.call': { actions: raise({ type: 'a.call' }) } }
  const { notes, claims } = provePolicy(createMachine({ on }), { tools: ['a'], never: { x: () => false } })
  expect([notes, claims[0]?.verdict]).toEqual([
    ['transitions that may go round for ever are not followed'],
    'unknown',
  ])
})

test('gives up on a policy that asks many guards about one event, and proves nothing then', () => {
  const asks = (index: number) => [`R${index}`, { on: { 'a.call': { guard: `g${index}`, actions: 'x' } } }]
  const regions = Object.fromEntries(Array.from({ length: 14 }, (_, index) => asks(index)))
  const steep = createMachine({ type: 'parallel', states: regions })
  const { notes } = provePolicy(steep, { tools: ['a'], never: { x: () => false }, maxStates: 100 })
  expect(notes).toEqual(['it has more than 1500 steps'])
})

describe('random policies', () => {
  const names = ['a', 'b']
  const proofDice = dice(proofSeed)
  const { below, chance, pick } = proofDice

  /** A policy of random states, with guards on its data, checks and regions. */
  const randomPolicy = (): AnyStateMachine => {
    const count = 2 + below(2)
    const stateNames = Array.from({ length: count }, (_, index) => `S${index}`)
    const transition = () => {
      const n = below(3)
      return {
        ...(chance(0.7) && { target: pick(stateNames) }),
        ...(chance(0.4) && { guard: ({ context }: { context: { n: number } }) => context.n % 3 === n }),
        actions: assign({ n: ({ context }) => context.n + 1 }),
      }
    }
    const state = (index: number) => ({
      ...(chance(0.15) && index > 0 && { tags: pick(['refuse', 'approval']) }),
      ...(chance(0.2) &&
        index > 0 && {
          tags: 'hold',
          invoke: {
            src: fromPromise(async () => {
              if (chance(0.5)) throw new Error('no')
            }),
            onDone: { target: pick(stateNames) },
            onError: { target: 'S0' },
          },
        }),
      on: Object.fromEntries(
        names.flatMap((name) =>
          ['call', 'done', 'failed', 'refused'].flatMap((kind) =>
            chance(kind === 'call' ? 0.7 : 0.4)
              ? [[`${name}.${kind}`, chance(0.3) ? [transition(), transition()] : transition()]]
              : [],
          ),
        ),
      ),
    })
    const region = () => ({
      initial: 'S0',
      states: Object.fromEntries(stateNames.map((name, index) => [name, state(index)])),
    })
    const config = chance(0.3)
      ? { type: 'parallel' as const, states: { P: region(), Q: region() } }
      : region()
    return createMachine({ context: { n: 0 }, ...config } as never)
  }

  test('never leave the states that the prover reaches, nor break what it has proved', async () => {
    const policies = isWhole ? 130 : 12
    let proved = 0
    for (let index = 0; index < policies; index += 1) {
      const machine = randomPolicy()
      const never = neverAfter(names)
      const proof = provePolicy(machine, { tools: names, never, maxStates: 3000 })
      const holds = proof.claims.filter(({ verdict }) => verdict === 'proved').map(({ name }) => name)
      proved += holds.length
      const { values, pairs: seen } = await randomRuns(machine, names, 5, proofDice)
      expect(holds.filter((pair) => seen.has(pair))).toEqual([])
      for (const value of values) expect(proof.states).toContain(value)
    }
    expect(proved).toBeGreaterThan(0)
  }, 600_000)
})
