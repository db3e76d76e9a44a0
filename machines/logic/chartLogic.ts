import type {
  AnyActorRef,
  AnyActorScope,
  AnyEventObject,
  AnyMachineSnapshot,
  AnyStateMachine,
  MachineContext,
} from 'xstate'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { adviceOn } from '../../src/messages/optionNames.ts'
import { emitWarning, isDevelopment } from '../../src/messages/warn.ts'
import type { AgentEmitted } from '../agent/events.ts'
import { type AnyRunMachine, type RunParts, registerRunMachine } from './wrapLogic.ts'

/** The effect of one event of a running stream: the next context, and what listeners get. */
export type Read = { context: MachineContext; emitted: readonly AgentEmitted[] }

/** The event that the chart gets instead of one that could not be read. */
type FailedRead = { instead: AnyEventObject }

/** A shortcut for the reads of a running stream. */
export type FastPath = {
  /** Reads an event; undefined for an event that the chart must take. */
  read(snapshot: AnyMachineSnapshot, event: AnyEventObject): Read | FailedRead | undefined
  /** The actions and guards of the chart that it replaces: with your own in their place, the chart takes every read. */
  replaces: readonly string[]
}

/** Takes a step of a run: what the chart's parts need beside its data is there meanwhile. */
export type StepAround = <T>(run: AnyActorRef, step: () => T) => T

const alone: StepAround = (_, step) => step()

/**
 * The logic of a chart, in which the reads of a running stream skip the interpreter's macrostep: it costs more than
 * everything else that a read needs. In the chart such an event is a transition without a target, in a state tagged
 * `streaming`, whose whole effect is the function that the fast path calls. The chart's result is the same, and a test
 * walks both. Listeners, inspectors and the pure `transition()` get it through the actor's scope, as by any action, once
 * the snapshot is committed. Only `@xstate.microstep` is missing: XState has no public way to send it.
 *
 * With a context that is plain JSON (`hasJsonContext`), XState need not search it for actors each time it is stored.
 */
export const chartLogic = (
  chart: AnyStateMachine,
  fastPath: FastPath | undefined,
  hasJsonContext: boolean,
  inStep: StepAround = alone,
): AnyRunMachine => {
  const warnOf = hasJsonContext ? warnOfEvents(chart) : undefined
  return registerRunMachine(
    {
      id: chart.id,
      config: chart.config,
      root: chart.root,
      implementations: chart.implementations,
      getInitialSnapshot: (scope, input) => inStep(scope.self, () => chart.getInitialSnapshot(scope, input)),
      transition: (snapshot: AnyMachineSnapshot, event, scope) => {
        const isStreaming = fastPath && snapshot.status === 'active' && snapshot.hasTag('streaming')
        const read = isStreaming ? fastPath.read(snapshot, event) : undefined
        if (!read) {
          warnOf?.(event)
          return inStep(scope.self, () => chart.transition(snapshot, event, scope))
        }
        if ('instead' in read)
          return inStep(scope.self, () => chart.transition(snapshot, read.instead, scope))
        emitAll(read, event, scope)
        return withContext(snapshot, read.context)
      },
      start: (snapshot: AnyMachineSnapshot) => chart.start(snapshot),
      getPersistedSnapshot: (snapshot: AnyMachineSnapshot, options) =>
        hasJsonContext
          ? { ...chart.getPersistedSnapshot(withContext(snapshot, {}), options), context: snapshot.context }
          : chart.getPersistedSnapshot(snapshot, options),
      restoreSnapshot: (stored, scope) => inStep(scope.self, () => chart.restoreSnapshot(stored, scope)),
      provide: (parts) => {
        if (hasJsonContext) checkParts(chart, parts)
        const names = Object.keys({ ...parts.actions, ...parts.guards })
        const isReplaced = names.some((name) => fastPath?.replaces.includes(name))
        return chartLogic(chart.provide(parts), isReplaced ? undefined : fastPath, hasJsonContext, inStep)
      },
    },
    ['chartLogic'],
  )
}

/** The field that an event of a user cannot do without. */
const neededFields = new Map([
  ['tool.approve', 'callId'],
  ['tool.reject', 'callId'],
  ['tool.answer', 'callId'],
  ['steer', 'text'],
  ['message', 'text'],
])

/** Warns in development, once for each type, of events that XState passes over in silence: the run would wait for ever. */
const warnOfEvents = ({ id, events }: AnyStateMachine): ((event: AnyEventObject) => void) => {
  const known = new Set(events)
  const warned = new Set<string>()
  const warn = (type: string, problem: string) => {
    if (warned.has(type) || !isDevelopment()) return
    warned.add(type)
    emitWarning(problem)
  }
  return (event) => {
    const { type } = event
    const needed = neededFields.get(type)
    if (needed !== undefined && typeof event[needed] !== 'string')
      warn(type, `An event "${type}" without ${needed} has no effect: write { type: '${type}', ${needed} }.`)
    else if (!known.has(type) && !type.startsWith('xstate.'))
      warn(type, `The machine "${id}" has no event "${type}". ${adviceOn(type, commandTypes)}`)
  }
}

/** The commands of a run. */
const commandTypes = [...neededFields.keys(), 'abort', 'compact', 'wake']

/** Refuses parts that the chart does not name, which XState takes and never uses. A user's chart need not list its own. */
const checkParts = ({ id, implementations }: AnyStateMachine, parts: RunParts): void => {
  const known = new Map<string, object>(Object.entries(implementations))
  for (const [kind, given] of Object.entries(parts)) {
    const names = Object.keys(known.get(kind) ?? {})
    if (names.length === 0)
      throw new ConfigurationError(`The chart "${id}" has no ${kind}: provide guards, actions or actors.`)
    for (const [name, part] of Object.entries(given)) {
      if (!names.includes(name))
        throw new ConfigurationError(
          `The chart "${id}" has no ${kind} with the name "${name}". ${adviceOn(name, names)}`,
        )
      const isUsable = kind === 'actors' ? 'transition' in Object(part) : typeof part === 'function'
      if (!isUsable)
        throw new ConfigurationError(
          `${kind}.${name} must be ${kind === 'actors' ? 'actor logic, such as fromPromise(…)' : 'a function'}.`,
        )
    }
  }
}

/** Returns the same snapshot with another context, whether its methods are its own or its prototype's. */
const withContext = (snapshot: AnyMachineSnapshot, context: MachineContext): AnyMachineSnapshot =>
  Object.setPrototypeOf({ ...snapshot, context }, Object.getPrototypeOf(snapshot))

/** Emits as XState's `emit` does, except that the events of one read are deferred together. */
const emitAll = ({ context, emitted }: Read, event: AnyEventObject, scope: AnyActorScope): void => {
  if (emitted.length === 0) return
  const info = { context, event, self: scope.self, system: scope.system }
  const due: AgentEmitted[] = []
  for (const each of emitted) {
    const exec = () => void due.push(each)
    scope.actionExecutor({ type: 'xstate.emit', info, params: { event: each }, exec })
  }
  scope.defer(() => {
    for (const each of due) scope.emit(each)
  })
}
