import type {
  ActorLogic,
  AnyActorLogic,
  AnyActorRef,
  AnyMachineSnapshot,
  AnyStateMachine,
  EventObject,
} from 'xstate'
import type { AgentCommand, AgentEmitted, AgentInput } from '../agent/events.ts'

/** The members of a machine that drawings, inspectors and tests look at. */
type Charted = Pick<AnyStateMachine, 'id' | 'config' | 'root' | 'implementations'>

/** Your own actions, guards and actors, by the names that the chart gives them. */
export type RunParts = Parameters<AnyStateMachine['provide']>[0]

/**
 * The logic of a run, for `createActor`, `invoke` and `spawn`: a chart, which XState interprets, and around it what a
 * chart cannot say about itself. `id`, `config`, `root` and `implementations` are the chart's own.
 */
export interface RunMachine<
  Snapshot extends AnyMachineSnapshot = AnyMachineSnapshot,
  Command extends EventObject = AgentCommand,
  Input = AgentInput,
  Parts = RunParts,
> extends Required<ActorLogic<Snapshot, Command, Input, AnyActorRef['system'], AgentEmitted>>,
    Charted {
  readonly config: AnyStateMachine['config']
  /** Returns the machine with your own parts in place of the chart's. A name that the chart does not have is refused. */
  provide(parts: Parts): this
}

/** A run machine with any states, commands and input. */
export type AnyRunMachine = Required<AnyActorLogic> & Charted & { provide(parts: RunParts): AnyRunMachine }

/** The wrappers around each run machine, the innermost first. */
const wrappers = new WeakMap<object, readonly string[]>()

/** Registers a logic as that of a run: telemetry records only such actors as runs. */
export const registerRunMachine = <Logic extends object>(
  logic: Logic,
  around: readonly string[] = [],
): Logic => {
  wrappers.set(logic, around)
  return logic
}

/** Says whether a logic is that of a run. */
export const isRunMachine = (logic: object): boolean => wrappers.has(logic)

/** The names of the wrappers around a machine: a test refuses one too many. */
export const wrappersOf = (machine: object): readonly string[] => wrappers.get(machine) ?? []

/** Says whether a logic is a chart as XState made it, also one of another copy of XState. */
export const isChart = (logic: object): logic is AnyStateMachine =>
  !wrappers.has(logic) && 'root' in logic && 'provide' in logic

/** Replaces some members of a run machine; the machine that its `provide` returns is wrapped in the same way. */
export const wrapLogic = <M extends AnyRunMachine>(
  name: string,
  machine: M,
  change: (inner: AnyRunMachine) => Partial<AnyRunMachine>,
): M =>
  registerRunMachine(
    {
      ...machine,
      provide: (parts: RunParts) => wrapLogic(name, machine.provide(parts), change),
      ...change(machine),
    },
    [...wrappersOf(machine), name],
  )
