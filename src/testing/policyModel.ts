import {
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createMachine,
  initialTransition,
  transition,
} from 'xstate'
import { ConfigurationError } from '../messages/errors.ts'
import {
  callable,
  checkValue,
  fields,
  listOf,
  object,
  orWrite,
  type Rule,
  text,
  wholeFrom,
} from '../messages/optionRules.ts'

// A policy without its data: guards may be true or false, checks and delays may end at any time. What cannot happen in the
// model cannot happen in any run.

type Config = { readonly [key: string]: unknown }

/** A policy as a model: the chart without data, and the events that it may get by itself. */
export type PolicyModel = {
  chart: AnyStateMachine
  /** Ends of checks and delays, with the path of the state that they belong to. */
  own: readonly OwnEvent[]
  /** Events that its actions raise. */
  raised: ReadonlySet<string>
  /** Parts that are not followed. A claim is not proved while there is one. */
  notes: string[]
  /** Guesses what each guard says. */
  oracle: Oracle
}

/** The end of a check or a delay. `label`: its name in claims; checks of several states may share it. */
type OwnEvent = { type: string; label: string; path: readonly string[] }

/** Makes the model of a policy. */
export const policyModel = (machine: AnyStateMachine): PolicyModel => {
  const oracle = new Oracle()
  const notes = new Set<string>()
  const own: OwnEvent[] = []
  const raised = new Set<string>()
  const named: Readonly<Record<string, unknown>> = machine.implementations.actions

  const actionsOf = (given: unknown, place: string): unknown[] =>
    listFrom(given).map((action) => {
      const name = typeof action === 'string' ? action : Object(action).type
      const known = typeof action !== 'function' && typeof name === 'string' ? named[name] : action
      const type: unknown = Object(known).type
      if (type === 'xstate.raise' && typeof Object(known).event !== 'function' && !Object(known).delay) {
        raised.add(String(Object(Object(known).event).type))
        return known
      }
      if (typeof type === 'string' && /^xstate\.(raise|sendTo|enqueueActions|spawnChild)$/.test(type))
        notes.add(`${type.slice(7)} in ${place} is not followed`)
      return nothing
    })

  const transitionOf = (given: unknown, place: string): unknown =>
    listFrom(given).map((each) => {
      const { guard, actions, ...rest } = typeof each === 'string' ? { target: each } : Object(each)
      const label = typeof guard === 'string' ? guard : String(Object(guard).type ?? 'guard')
      const isForbidden = rest.target === undefined && actions === undefined
      return {
        ...rest,
        ...(guard !== undefined
          ? { guard: () => oracle.guess(label) }
          : !isForbidden && { guard: () => oracle.look() }),
        ...(actions !== undefined && { actions: actionsOf(actions, place) }),
      }
    })

  const stateOf = (config: Config, path: readonly string[]): Config => {
    const place = path.join('.') || 'the root'
    const on: Record<string, unknown> = {}
    for (const [type, given] of Object.entries(Object(config.on)))
      on[type] = given === undefined ? undefined : transitionOf(given, place)
    for (const type of Object.keys(on)) if (type.startsWith('xstate.')) own.push({ type, label: type, path })
    const addOwn = (type: string, given: unknown, label = type) => {
      own.push({ type, label, path })
      if (given !== undefined) on[type] = transitionOf(given, place)
    }
    listFrom(config.invoke).forEach((invoke, index) => {
      const { id = `${index}.${place}`, src, onDone, onError, onSnapshot } = Object(invoke)
      const name = typeof src === 'string' ? src : id
      // Checks end one by one, also those of the same kind.
      const unique = `${index}.${place}`
      // A wildcard takes the end of a check without onDone, too.
      addOwn(`xstate.done.actor.${unique}`, onDone, `xstate.done.actor.${name}`)
      addOwn(`xstate.error.actor.${unique}`, onError, `xstate.error.actor.${name}`)
      if (onSnapshot !== undefined) notes.add(`onSnapshot in ${place} is not followed`)
    })
    for (const [delay, given] of Object.entries(Object(config.after)))
      addOwn(`xstate.after.${delay}.${place}`, given)
    const { id, initial, type, tags, meta, history, target } = config
    for (const key of Object.keys(config))
      if (config[key] !== undefined && !followed.has(key)) notes.add(`"${key}" of ${place} is not followed`)
    const states = Object.entries(Object(config.states)).map(([key, inner]) => [
      key,
      stateOf(Object(inner), [...path, key]),
    ])
    return {
      ...defined({ id, initial: initialOf(initial, place), type, tags, meta, history, target }),
      on,
      ...(config.always !== undefined && { always: transitionOf(config.always, place) }),
      entry: actionsOf(config.entry, place),
      exit: actionsOf(config.exit, place),
      ...(config.onDone !== undefined && { onDone: transitionOf(config.onDone, place) }),
      ...(states.length > 0 && { states: Object.fromEntries(states) }),
    }
  }

  const initialOf = (initial: unknown, place: string): unknown =>
    typeof initial === 'object' && initial !== null
      ? { ...initial, actions: actionsOf(Reflect.get(initial, 'actions'), place) }
      : initial

  const config = stateOf(machine.config as Config, [])
  const chart = createMachine({ ...config, id: machine.id })
  return { chart, own, raised, notes: [...notes], oracle }
}

/** The parts of a state that the model has, and those that cannot change where a policy goes. */
const followed: ReadonlySet<string> = new Set(
  'id key order version description types schemas options context output input meta tags type initial history target states on always after invoke entry exit onDone'.split(
    ' ',
  ),
)

const nothing = (): void => {}

const listFrom = (given: unknown): readonly unknown[] =>
  given === undefined ? [] : Array.isArray(given) ? given : [given]

const defined = (fields: Config): Config =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

/** The most guesses in one step: a guarded `always` may go round for ever. */
const mostGuesses = 16

/** The most looks at other transitions in one step: a transition may raise its own event again and again. */
const mostLooks = 2000

/** Guesses what guards say, and tries all guesses one after the other. */
class Oracle {
  #guesses: boolean[] = []
  #labels: string[] = []
  #at = 0
  #looks = 0
  /** Too many guesses were asked for: XState wraps the error of a guard. */
  isSpent = false

  guess(label: string): boolean {
    const at = this.#at
    if (at >= mostGuesses) {
      this.isSpent = true
      throw new TooManyGuesses()
    }
    this.#at += 1
    this.#guesses[at] ??= true
    this.#labels[at] = label
    return this.#guesses[at]
  }

  /** The guard of a transition that has none. */
  look(): true {
    this.#looks += 1
    if (this.#looks <= mostLooks) return true
    this.isSpent = true
    throw new TooManyGuesses()
  }

  /** Begins again with the same guesses. */
  replay(): void {
    this.#at = 0
    this.#looks = 0
  }

  /** Runs a function with each combination of guesses. */
  *all<T>(run: () => T): Generator<{ value: T; guesses: string[] }> {
    this.#guesses = []
    for (;;) {
      this.replay()
      const value = run()
      const used = this.#guesses.slice(0, this.#at)
      yield { value, guesses: used.map((isTrue, at) => `${isTrue ? '' : 'not '}${this.#labels[at]}`) }
      const last = used.lastIndexOf(true)
      if (last < 0) return
      this.#guesses = [...used.slice(0, last), false]
    }
  }
}

/** A policy whose transitions are taken again and again in one step. */
export class TooManyGuesses extends Error {}

/** A snapshot after a step of the model, and the guesses that led to it. */
export type ModelStep = { snapshot: AnyMachineSnapshot; guesses: string[]; isTaken: boolean }

/** The snapshots that a policy may begin with. */
export const firstSteps = ({ chart, oracle }: PolicyModel): ModelStep[] =>
  [...oracle.all(() => initialTransition(chart)[0])].map(({ value, guesses }) => ({
    snapshot: value,
    guesses,
    isTaken: true,
  }))

/** The snapshots that an event may lead to. One that is not taken leads nowhere. `count` is called before each try. */
export const stepsOn = (
  { chart, oracle }: PolicyModel,
  snapshot: AnyMachineSnapshot,
  event: AnyEventObject,
  count: () => void,
): ModelStep[] =>
  [
    ...oracle.all(() => {
      count()
      const isTaken = snapshot.can(event)
      oracle.replay()
      return { isTaken, snapshot: transition(chart, snapshot, event)[0] }
    }),
  ].map(({ value, guesses }) => ({ ...value, guesses }))

/** Says whether a state is active. */
export const isActive = (value: unknown, path: readonly string[]): boolean => {
  const [first, ...rest] = path
  if (first === undefined) return true
  if (typeof value === 'string') return value === first && rest.length === 0
  const inner = Object(value)
  return Object.hasOwn(inner, first) && isActive(inner[first], rest)
}

const claims: Rule = (name, value) =>
  object(name, value) ??
  Object.entries(Object(value))
    .map(([claim, each]) => callable(`${name}['${claim}']`, each) ?? noEvent(`${name}['${claim}']`, each))
    .find((problem) => problem !== undefined)

/** A claim that reads `event.type`, as guards do, is false of every step: it would count as proved. */
const noEvent: Rule = (name, value) =>
  /\bevent\??\.type\b/.test(String(value))
    ? `${name} reads event.type, and event is a name here: write event === 'refund.call'.`
    : undefined

/** The options of a proof. A claim under a misspelled name would count as proved. */
const proofRule = orWrite(
  fields({ tools: listOf(text), never: claims, always: claims, reachable: claims, maxStates: wholeFrom(1) }),
  (value) => (Object(value) === value ? undefined : 'provePolicy(machine, { tools, never })'),
)

/** Refuses what cannot be proved. */
export const checkProof = (machine: unknown, options: unknown): void => {
  if (typeof Object(machine).transition !== 'function' || !Object(machine).root)
    throw new ConfigurationError(
      'provePolicy takes the statechart of a policy: write provePolicy(machine, { tools }), with what setup().createMachine() returned.',
    )
  checkValue('The options of provePolicy', options, proofRule)
  checkValue('tools', Object(options).tools, listOf(text))
}
