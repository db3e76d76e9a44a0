import { type AnyEventObject, type AnyStateMachine, and, createMachine } from 'xstate'
import { isThenable } from '../../src/tools/isThenable.ts'

/** The machine of a policy as a run asks it. */
type StrictMachine = {
  machine: AnyStateMachine
  /** Does a step of the machine. One that does not come to an end is an error. */
  step<T>(event: AnyEventObject | undefined, run: () => T): T
  /** Says whether a transition has taken the event of the last step. */
  hasTaken(): boolean
}

/** The most transitions that are looked at in one step. */
const mostLooks = 10_000

/**
 * Closes what XState leaves open, so that nothing passes by a slip of the policy. What a guard returns is true or false: a
 * promise, an object or the text "no" would count as true. It is asked once: a second answer could be another one, and a call would pass that
 * nothing has taken. Transitions that go round for ever are an error.
 */
export const strictMachine = (machine: AnyStateMachine): StrictMachine => {
  const { guards, ...implementations } = machine.implementations
  let looks = 0
  let asked: AnyEventObject | undefined
  let isTaken = false
  const look: Watch = () => {
    looks += 1
    if (looks <= mostLooks) return true
    throw new Error('The policy goes round for ever: one event leads to transitions without an end.')
  }
  const note: Watch = ({ event }) => {
    if (event === asked) isTaken = true
    return look({ event })
  }
  const named = mapped(guards, strictGuard)
  return {
    machine: createMachine(strictState(machine.config, look, note), {
      ...implementations,
      guards: named,
    } as never),
    step: (event, run) => {
      looks = 0
      asked = event
      isTaken = false
      return run()
    },
    hasTaken: () => isTaken,
  }
}

type Watch = (args: { event: AnyEventObject }) => boolean
type Named = Readonly<Record<string, unknown>>
type TransitionConfig = { target?: unknown; actions?: unknown; guard?: unknown }
type StateConfig = {
  on?: Named
  after?: Named
  invoke?: object
  states?: Record<string, object>
  context?: unknown
}

const strictState = <Config extends object>(config: Config, look: Watch, note: Watch): Config => {
  const { on, after, invoke, states, context }: StateConfig = config
  const strict = (given: unknown) => strictTransitions(given, look)
  return {
    ...config,
    ...strictFields(config, ['always', 'onDone'], strict),
    ...(on && { on: mapped(on, (given) => strictTransitions(given, note)) }),
    ...(after && { after: mapped(after, strict) }),
    ...(invoke && {
      invoke: [invoke]
        .flat()
        .map((each) => ({ ...each, ...strictFields(each, ['onDone', 'onError', 'onSnapshot'], strict) })),
    }),
    ...(states && { states: mapped(states, (state) => strictState(state, look, note)) }),
    ...(typeof context === 'function' && { context: strictContext(context) }),
  }
}

const mapped = <T, To>(record: Readonly<Record<string, T>>, change: (each: T) => To): Record<string, To> =>
  Object.fromEntries(Object.entries(record).map(([name, each]) => [name, change(each)]))

const strictFields = (
  config: object,
  names: readonly string[],
  strict: (given: unknown) => unknown,
): Named => {
  const fields: Named = { ...config }
  return Object.fromEntries(
    names.flatMap((name) => (fields[name] === undefined ? [] : [[name, strict(fields[name])]])),
  )
}

const strictTransitions = (given: unknown, watch: Watch): unknown => {
  if (given === undefined) return undefined
  return Array.isArray(given)
    ? given.map((each) => strictTransition(each, watch))
    : strictTransition(given, watch)
}

/** A transition that is watched. One with neither a target nor an action forbids its event, and takes nothing. */
const strictTransition = (given: unknown, watch: Watch): TransitionConfig => {
  const transition: TransitionConfig = typeof given === 'object' && given !== null ? given : { target: given }
  const { target, actions = [], guard } = transition
  if (target === undefined && [actions].flat().length === 0)
    return guard === undefined ? transition : { ...transition, guard: strictGuard(guard) }
  return { ...transition, guard: guard === undefined ? watch : watchedGuard(guard, watch) }
}

const watchedGuard = (guard: unknown, watch: Watch): unknown =>
  isOwn(guard)
    ? (args: { event: AnyEventObject }) => yesOrNo(guard(args)) && watch(args)
    : and([strictGuard(guard) as never, watch as never])

/** A guard that XState makes, such as `and`, has fields. */
const isOwn = (guard: unknown): guard is CallableFunction =>
  typeof guard === 'function' && Object.keys(guard).length === 0

/** A guard that says true or false, and so do those that it is made of: `and([…])` would take a promise of one as true. */
const strictGuard = (guard: unknown): unknown => {
  if (typeof guard !== 'function') return guard
  if (isOwn(guard)) return (...args: unknown[]) => yesOrNo(guard(...args))
  const { guards }: { guards?: unknown } = Object(guard)
  const made = (...args: unknown[]): unknown => guard(...args)
  return Object.assign(made, guard, Array.isArray(guards) && { guards: guards.map(strictGuard) })
}

const yesOrNo = (said: unknown): boolean => {
  if (typeof said === 'boolean') return said
  if (said === undefined || said === null) return false
  if (isThenable(said)) Promise.resolve(said).catch(() => {})
  throw new TypeError(
    'A guard of the policy must return true or false. What takes time is an invoke in a hold.',
  )
}

const strictContext =
  (context: CallableFunction) =>
  (...args: unknown[]): unknown => {
    const made = context(...args)
    if (!isThenable(made)) return made
    Promise.resolve(made).catch(() => {})
    throw new TypeError('The context of the policy must not be a promise.')
  }
