import { type AnyStateMachine, assign, createMachine, fromPromise, raise } from 'xstate'
import type { dice } from '../proof/dice.ts'

type Dice = ReturnType<typeof dice>
type State = Record<string, unknown>

const count = assign({ n: ({ context }: { context: { n: number } }) => context.n + 1 })
const ends = ['call', 'call', 'done', 'failed', 'approved', 'rejected', 'refused']

/** A policy of any shape: nested states, regions, history, final states, wildcards, guards on its data, checks and raised events. */
export const randomPolicy = (names: readonly string[], { below, chance, pick }: Dice): AnyStateMachine => {
  const guard = () => {
    const n = below(3)
    return ({ context }: { context: { n: number } }) => context.n % 3 === n
  }
  const transition = (targets: readonly string[]): State => ({
    ...(chance(0.75) && { target: pick(targets) }),
    ...(chance(0.3) && { guard: guard() }),
    ...(chance(0.1) && { reenter: true }),
    actions: chance(0.15) ? [count, raise({ type: `${pick(names)}.done` })] : [count],
  })
  const handlers = (targets: readonly string[], most: number): State =>
    Object.fromEntries(
      Array.from({ length: below(most) }, () => {
        const type = chance(0.08) ? `${pick(names)}.*` : `${pick(names)}.${pick(ends)}`
        return [type, chance(0.25) ? [transition(targets), transition(targets)] : transition(targets)]
      }),
    )
  const check = (targets: readonly string[]): State => ({
    tags: 'hold',
    invoke: {
      src: fromPromise(async () => {
        if (chance(0.5)) throw new Error('no')
      }),
      onDone: chance(0.5) ? { target: pick(targets) } : [transition(targets), { target: pick(targets) }],
      onError: { target: pick(targets) },
    },
  })
  const region = (depth: number): State => {
    const own = Array.from({ length: 2 + below(3) }, (_, index) => `S${index}`)
    const hasHistory = depth > 0 && chance(0.2)
    const keys = hasHistory ? [...own, 'H'] : own
    const states: Record<string, State> = {}
    for (const [index, key] of own.entries()) {
      const isFirst = index === 0
      const inner = depth > 0 && chance(0.3)
      if (!isFirst && chance(0.08)) states[key] = { type: 'final', ...(chance(0.5) && { tags: 'refuse' }) }
      else if (!isFirst && chance(0.2)) states[key] = { ...check(keys), on: handlers(keys, 3) }
      else
        states[key] = {
          ...(!isFirst && chance(0.2) && { tags: pick(['refuse', 'approval']) }),
          on: handlers(keys, 9),
          ...(inner && { ...region(depth - 1), ...(chance(0.4) && { onDone: pick(keys) }) }),
          ...(!inner && chance(0.15) && { always: { guard: guard(), target: pick(keys), actions: count } }),
        }
    }
    if (hasHistory) states.H = { type: 'history', history: pick(['shallow', 'deep']) }
    return { initial: 'S0', states }
  }
  if (chance(0.25))
    return createMachine({
      context: { n: 0 },
      type: 'parallel',
      states: { P: region(0), Q: region(1) },
    } as never)
  return createMachine({
    context: { n: 0 },
    on: chance(0.3) ? handlers(['.S0'], 3) : {},
    ...region(2),
  } as never)
}
