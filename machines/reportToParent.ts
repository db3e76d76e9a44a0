import type { AnyActorScope } from 'xstate'
import type { AgentEmitted } from './events.ts'
import { type AnyRunMachine, changed } from './runMachine.ts'

/** What a reporting run tells its parent: everything that one of its steps emitted, in order. */
export type RunEmitted = { type: 'run.emitted'; emitted: readonly AgentEmitted[] }

/**
 * Makes a run tell its parent what it emits: how a chart made of runs hears of them. XState does not pass on what a child
 * emits. All that one step emits is one event.
 */
export const reportToParent = <M extends AnyRunMachine>(machine: M): M => {
  const reporting = new WeakMap<AnyActorScope, AnyActorScope>()
  const scopeFor = (scope: AnyActorScope): AnyActorScope => {
    const known = reporting.get(scope) ?? withReport(scope)
    reporting.set(scope, known)
    return known
  }
  return changed(machine, (inner) => ({
    transition: (snapshot, event, scope) => inner.transition(snapshot, event, scopeFor(scope)),
    getInitialSnapshot: (scope, input) => inner.getInitialSnapshot(scopeFor(scope), input),
  }))
}

const withReport = (scope: AnyActorScope): AnyActorScope => {
  let unreported: AgentEmitted[] = []
  const report = () => {
    const event: RunEmitted = { type: 'run.emitted', emitted: unreported }
    unreported = []
    scope.self._parent?.send(event)
  }
  // By name: nothing says that the members of a scope can be copied.
  return {
    self: scope.self,
    id: scope.id,
    sessionId: scope.sessionId,
    system: scope.system,
    logger: (...args) => scope.logger(...args),
    defer: (effect) => scope.defer(effect),
    stopChild: (child) => scope.stopChild(child),
    actionExecutor: (action) => scope.actionExecutor(action),
    emit: (emitted: AgentEmitted) => {
      scope.emit(emitted)
      // Emissions are put off to the end of a step, one by one: what is put off now comes after the last of them.
      if (unreported.length === 0) scope.defer(report)
      unreported.push(emitted)
    },
  }
}
