import type {
  ActorLogic,
  AnyActor,
  AnyActorLogic,
  AnyActorRef,
  AnyActorScope,
  AnyEventObject,
  AnyMachineSnapshot,
  AnyStateMachine,
  EventObject,
  MachineContext,
} from 'xstate'
import type { AgentCommand, AgentEmitted, AgentInput } from '../agent/events.ts'
import { hostOf } from './runHost.ts'

/** What drawings, inspectors and tests look at in a machine. */
type Charted = Pick<AnyStateMachine, 'id' | 'config' | 'root' | 'implementations'>

/** Actions, guards and actors of yours, by the names that the chart gives them. */
export type RunParts = Parameters<AnyStateMachine['provide']>[0]

/**
 * The logic of a run, for `createActor`, `invoke` and `spawn`: a chart, which XState interprets, and around it what a
 * chart cannot say of itself. `id`, `config`, `root` and `implementations` are the chart's own.
 */
export interface RunMachine<
  Snapshot extends AnyMachineSnapshot = AnyMachineSnapshot,
  Command extends EventObject = AgentCommand,
  Input = AgentInput,
> extends Required<ActorLogic<Snapshot, Command, Input, AnyActorRef['system'], AgentEmitted>>,
    Charted {
  readonly config: AnyStateMachine['config']
  /** The same with parts of yours in place of the chart's. */
  provide(parts: RunParts): this
}

/** The same, with any states, commands and input. */
export type AnyRunMachine = Required<AnyActorLogic> & Charted & { provide(parts: RunParts): AnyRunMachine }

const made = new WeakSet<object>()

/** Whether a logic is that of a run. */
export const isRunMachine = (logic: object): boolean => made.has(logic)

/** A chart as XState made it; of any copy of XState. */
export const isChart = (logic: object): logic is AnyStateMachine =>
  !made.has(logic) && 'root' in logic && 'provide' in logic

/**
 * The logic of a chart, with three things that XState leaves to its caller.
 *
 * - A chart that breaks, because a user's guard or action throws, stops its children: no socket stays open, no tool keeps
 *   running.
 * - A restored chart gets the end of children that had already ended. A snapshot may be taken while the done event of a
 *   child is on its way: XState keeps the child then, but not the event. Starting the child again repeats it.
 * - The host of the run stores a step before it takes effect: XState runs deferred effects in order, so what is deferred
 *   before the step comes first.
 *
 * With a context that is plain JSON, as ours is, XState need not search it for actors each time that it is stored.
 */
export const runMachine = (chart: AnyStateMachine, hasPlainContext = false): AnyRunMachine => {
  const stopChildren = ({ children }: AnyMachineSnapshot, scope: AnyActorScope) => {
    for (const child of Object.values<AnyActorRef>(children)) scope.stopChild(child)
  }
  return marked({
    id: chart.id,
    config: chart.config,
    root: chart.root,
    implementations: chart.implementations,
    getInitialSnapshot: (scope, input) => {
      const host = hostOf(scope.self)
      // A run that ends at once is never started.
      if (host.writeAhead) scope.defer(() => host.writeAhead?.())
      return chart.getInitialSnapshot(scope, input)
    },
    transition: (snapshot: AnyMachineSnapshot, event, scope) => {
      const host = hostOf(scope.self)
      if (host.writeAhead)
        scope.defer(() => {
          const next: AnyMachineSnapshot = scope.self.getSnapshot()
          if (isStoredLater(event, snapshot, next) || isUnchanged(snapshot, next)) return
          try {
            host.writeAhead?.()
          } catch (thrown) {
            stopChildren(next, scope)
            throw thrown
          }
        })
      try {
        return chart.transition(snapshot, event, scope)
      } catch (thrown) {
        stopChildren(snapshot, scope)
        throw thrown
      }
    },
    start: (snapshot: AnyMachineSnapshot, scope) => {
      hostOf(scope.self).writeAhead?.()
      chart.start(snapshot)
      for (const child of Object.values<AnyActor>(snapshot.children)) {
        if (child.getSnapshot().status !== 'active') child.start()
      }
    },
    getPersistedSnapshot: (snapshot: AnyMachineSnapshot, options) =>
      hasPlainContext
        ? { ...chart.getPersistedSnapshot(withContext(snapshot, {}), options), context: snapshot.context }
        : chart.getPersistedSnapshot(snapshot, options),
    restoreSnapshot: (stored, scope) => chart.restoreSnapshot(stored, scope),
    provide: (parts) => runMachine(chart.provide(parts), hasPlainContext),
  })
}

/** The same snapshot with other data, whether its methods are its own or its prototype's. */
export const withContext = (snapshot: AnyMachineSnapshot, context: MachineContext): AnyMachineSnapshot =>
  Object.setPrototypeOf({ ...snapshot, context }, Object.getPrototypeOf(snapshot))

/**
 * The events whose steps are not stored by themselves. What a model sends is requested again after a restore. A decision
 * that a restored sub-agent can take now is stored by the step in which it does: if it were stored as delivered before, it
 * would be lost with the process.
 */
const storedLater: ReadonlySet<string> = new Set(['model.deltas', 'model.prepared', 'tool.resumed'])

/** A user's chart may do more with what its runs emit than pass it on. */
const isStoredLater = (
  { type }: AnyEventObject,
  before: AnyMachineSnapshot,
  after: AnyMachineSnapshot,
): boolean =>
  storedLater.has(type) ||
  (type === 'run.emitted' && JSON.stringify(before.value) === JSON.stringify(after.value)) ||
  type === 'xstate.stop'

/**
 * A step that only passes its event on is stored by the receiver: a command must never be stored as received before it
 * is.
 */
const isUnchanged = (before: AnyMachineSnapshot, after: AnyMachineSnapshot): boolean =>
  before.context === after.context &&
  before.children === after.children &&
  before.status === after.status &&
  JSON.stringify(before.value) === JSON.stringify(after.value)

/** The logic of a user's chart: the charts that it is made of, if they have a name, are stored like the chart itself. */
export const runMachineOf = (chart: AnyStateMachine): AnyRunMachine => {
  const named: readonly (readonly [string, object])[] = Object.entries(chart.implementations.actors)
  const charts = named.flatMap(([name, logic]) => (isChart(logic) ? [[name, runMachineOf(logic)]] : []))
  return runMachine(charts.length === 0 ? chart : chart.provide({ actors: Object.fromEntries(charts) }))
}

/** A run machine with some of its logic changed; the one that its `provide` gives is changed in the same way. */
export const changed = <M extends AnyRunMachine>(
  machine: M,
  change: (inner: AnyRunMachine) => Partial<AnyRunMachine>,
): M =>
  marked({
    ...machine,
    provide: (parts: RunParts) => changed(machine.provide(parts), change),
    ...change(machine),
  })

/** The logic, from now on known as that of a run. */
export const marked = <Logic extends object>(logic: Logic): Logic => {
  made.add(logic)
  return logic
}
