import type { AnyActorScope, AnyStateMachine } from 'xstate'
import type { AgentEmitted } from './events.ts'
import { derive } from './interpreter/derive.ts'

/** What a reporting run tells its parent: everything it emits. XState does not pass on what a child emits. */
export type RunEmitted = { type: 'run.emitted'; emitted: AgentEmitted }

/** Makes a machine tell its parent whatever it emits: how an orchestrator hears of the runs it is made of. */
export const reportToParent = <M extends AnyStateMachine>(machine: M): M => {
  const made = new WeakMap<AnyActorScope, AnyActorScope>()
  const reporting = (scope: AnyActorScope): AnyActorScope => {
    const known = made.get(scope) ?? withReport(scope)
    made.set(scope, known)
    return known
  }
  return derive(machine, (original) => ({
    transition: (snapshot, event, scope) => original.transition(snapshot, event, reporting(scope)),
    getInitialSnapshot: (scope, input) => original.getInitialSnapshot(reporting(scope), input),
  }))
}

const withReport = (scope: AnyActorScope): AnyActorScope => ({
  ...scope,
  emit: (emitted: AgentEmitted) => {
    scope.emit(emitted)
    const report: RunEmitted = { type: 'run.emitted', emitted }
    scope.self._parent?.send(report)
  },
})
