import type { AnyActorRef } from 'xstate'
import type { AnyToolEntry } from '../../src/tools/tool.ts'
import type { WireSchema } from '../../src/tools/typedAnswer.ts'
import type { PrepareStep } from '../model/prepareStep.ts'
import { type RunHost, setHost } from './runHost.ts'
import { type AnyRunMachine, changed } from './runMachine.ts'

/** What a run is given that cannot be stored: a restored run is given it again. */
export type RunValues = {
  /** The schema that the answer must fit. */
  answerSchema?: WireSchema
  /** For the run's tools. */
  context?: unknown
  /** In place of the agent's. */
  tools?: readonly AnyToolEntry[]
  prepareStep?: PrepareStep
}

const given = new WeakMap<AnyActorRef, RunValues>()

/** The machine for one run with these values: one machine serves all runs, with any values. */
export const withValues = <M extends AnyRunMachine>(machine: M, values: RunValues): M =>
  introduced(machine, (self) => given.set(self, values))

/** The machine for one run with a host. */
export const withHost = <M extends AnyRunMachine>(machine: M, host: RunHost): M =>
  introduced(machine, (self) => setHost(self, host))

/** The machine, whose actor is shown around before it has a state. */
const introduced = <M extends AnyRunMachine>(machine: M, introduce: (self: AnyActorRef) => void): M =>
  changed(machine, (inner) => ({
    getInitialSnapshot: (scope, input) => {
      introduce(scope.self)
      return inner.getInitialSnapshot(scope, input)
    },
    restoreSnapshot: (stored, scope) => {
      introduce(scope.self)
      return inner.restoreSnapshot(stored, scope)
    },
  }))

/** The values of the run that an actor belongs to: those of the nearest actor above it that was given any. */
export const valuesOf = (actor: AnyActorRef | undefined): RunValues =>
  actor ? (given.get(actor) ?? valuesOf(actor._parent)) : {}
