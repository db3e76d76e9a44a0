import type {
  ActorLogic,
  AnyActor,
  AnyActorLogic,
  AnyActorRef,
  AnyMachineSnapshot,
  AnyStateMachine,
  EventObject,
} from 'xstate'
import type { AgentCommand, AgentEmitted, AgentInput } from './events.ts'

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

/** The same, whatever its states, commands and input are. */
export type AnyRunMachine = Required<AnyActorLogic> & Charted & { provide(parts: RunParts): AnyRunMachine }

const made = new WeakSet<object>()

export const isRunMachine = (logic: AnyActorLogic): logic is AnyRunMachine => made.has(logic)

/**
 * The logic of a chart, with two things that XState leaves to whoever runs it.
 *
 * - A chart that breaks, because a guard or an action of the user's throws, stops its children: no socket stays open, no
 *   tool at work.
 * - A restored chart hears of children that had already ended. A snapshot may be taken while the done event of a child
 *   is on its way: XState keeps the child then, but not the event. Starting the child again makes it say so again.
 */
export const runMachine = (chart: AnyStateMachine): AnyRunMachine =>
  marked({
    id: chart.id,
    config: chart.config,
    root: chart.root,
    implementations: chart.implementations,
    getInitialSnapshot: (scope, input) => chart.getInitialSnapshot(scope, input),
    transition: (snapshot: AnyMachineSnapshot, event, scope) => {
      try {
        return chart.transition(snapshot, event, scope)
      } catch (thrown) {
        for (const child of Object.values<AnyActorRef>(snapshot.children)) scope.stopChild(child)
        throw thrown
      }
    },
    start: (snapshot: AnyMachineSnapshot) => {
      chart.start(snapshot)
      for (const child of Object.values<AnyActor>(snapshot.children)) {
        if (child.getSnapshot().status !== 'active') child.start()
      }
    },
    getPersistedSnapshot: (snapshot, options) => chart.getPersistedSnapshot(snapshot, options),
    restoreSnapshot: (stored, scope) => chart.restoreSnapshot(stored, scope),
    provide: (parts) => runMachine(chart.provide(parts)),
  })

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

const marked = <M extends AnyRunMachine>(machine: M): M => {
  made.add(machine)
  return machine
}
