/** A proof of the prover holds in every run. */
import { describe, expect, test } from 'vitest'
import { type AnyStateMachine, assign, createMachine, enqueueActions, fromPromise } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import type { ChatModel } from '../../src/model/chatModel.ts'
import { type PolicyStep, provePolicy } from '../../src/testing/provePolicy.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { dice } from '../proof/dice.ts'
import { isWhole, proofSeed } from '../proof/sample.ts'
import { call, refundDesk } from './refunds.ts'

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
      },
    ])
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
      never: { 'an answer': ({ event }) => event === 'nothing' },
    })
    expect([claims[0]?.verdict, isProved]).toEqual(['unknown', false])
    expect(notes).toEqual(['enqueueActions in the root is not followed'])
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

describe('random policies', () => {
  const names = ['a', 'b']
  const { below, chance, pick } = dice(proofSeed)

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

  /** A model that makes random calls for some turns. */
  const randomModel = (): ChatModel => {
    const model = scriptedModel([])
    let turn = 0
    return {
      ...model,
      stream: (request, sink) => {
        turn += 1
        const calls = Array.from({ length: 1 + below(3) }, (_, index) =>
          call(`${turn}.${index}`, pick(names)),
        )
        return scriptedModel([turn > 4 ? 'done' : calls]).stream(request, sink)
      },
    }
  }

  test('never leave the states that the prover reaches, nor break what it has proved', async () => {
    const policies = isWhole ? 130 : 12
    let proved = 0
    for (let index = 0; index < policies; index += 1) {
      const machine = randomPolicy()
      const after = (first: string, second: string) => (step: PolicyStep) =>
        step.event === `${second}.call` && step.seen.has(`${first}.done`)
      const pairs = names.flatMap((first) => names.map((second): [string, string] => [first, second]))
      const never = Object.fromEntries(
        pairs.map(([first, second]) => [`${first} ${second}`, after(first, second)]),
      )
      const proof = provePolicy(machine, { tools: names, never, maxStates: 3000 })
      const holds = proof.claims.filter(({ verdict }) => verdict === 'proved').map(({ name }) => name)
      proved += holds.length
      for (let run = 0; run < 5; run += 1) {
        const values: string[] = []
        const all = names.map((name) =>
          tool({
            name,
            description: name,
            execute: () => (chance(0.3) ? Promise.reject(new Error('no')) : 'ok'),
          }),
        )
        const agent = new Agent(randomModel(), {
          tools: all,
          policy: { machine, others: 'refuse', holdMs: 100 },
          onApproval: () => chance(0.5),
          inspect: (event) => {
            if (event.type === '@xstate.snapshot' && Object(event.actorRef).id === 'policy')
              values.push(JSON.stringify(Object(event.snapshot).value))
          },
        })
        const handle = agent.start('Go', { maxSteps: 6 })
        const seen = new Set<string>()
        const nameOf = new Map<string, string>()
        const broken: string[] = []
        handle.on('message', ({ message }) => {
          for (const part of message.parts) if (part.type === 'toolCall') nameOf.set(part.id, part.name)
        })
        const done = new Set<string>()
        handle.on('tool.result', ({ callId, result }) => {
          if (!result.isError) done.add(callId)
        })
        handle.on('policy', ({ gate, callId = '', verdict }) => {
          const name = nameOf.get(callId)
          if (gate === 'Results' && done.has(callId) && verdict === 'pass') seen.add(`${name}`)
          if (gate !== 'Calls' || verdict === 'refuse') return
          for (const claim of holds) {
            const [first = '', second] = claim.split(' ')
            if (second === name && seen.has(first)) broken.push(claim)
          }
        })
        await handle.result.catch(() => {})
        expect(broken).toEqual([])
        for (const value of new Set(values)) expect(proof.states).toContain(value)
      }
    }
    expect(proved).toBeGreaterThan(0)
  }, 600_000)
})
