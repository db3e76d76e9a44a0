import type { AnyActorRef, AnyActorScope, AnyMachineSnapshot } from 'xstate'
import type { AgentEmitted } from '../agent/events.ts'
import { type AnyRunMachine, changed } from './runMachine.ts'

/** What a run reports to its parent: everything that one of its steps emitted, in order. */
export type RunEmitted = { type: 'run.emitted'; emitted: readonly AgentEmitted[] }

/** Whether the run waits for people, or works again. */
export type RunStands = { type: 'run.waiting' } | { type: 'run.working' }

/**
 * Makes a run report to its parent what it emits, and when it waits: a chart made of runs needs that. XState does not
 * pass on what a child emits. All that one step emits is one event.
 */
export const reportToParent = <M extends AnyRunMachine>(machine: M): M => {
  const restored = new WeakSet<AnyActorRef>()
  const reporting = new WeakMap<AnyActorScope, AnyActorScope>()
  const scopeFor = (scope: AnyActorScope): AnyActorScope => {
    const known = reporting.get(scope) ?? withReport(scope)
    reporting.set(scope, known)
    return known
  }
  return changed(machine, (inner) => ({
    transition: (snapshot: AnyMachineSnapshot, event, scope) => {
      const next: AnyMachineSnapshot = inner.transition(snapshot, event, scopeFor(scope))
      const { tags } = next
      // Put off twice, as the report is: what the run says comes before that it waits for an answer.
      if (tags !== snapshot.tags && tags.has('waiting') !== snapshot.tags.has('waiting'))
        scope.defer(() => scope.defer(() => scope.self._parent?.send(standingOf(next))))
      return next
    },
    getInitialSnapshot: (scope, input) => inner.getInitialSnapshot(scopeFor(scope), input),
    restoreSnapshot: (stored, scope) => {
      restored.add(scope.self)
      return inner.restoreSnapshot(stored, scope)
    },
    // A parent that was stored before it got the report of a wait, or of its end, gets it now.
    start: (snapshot: AnyMachineSnapshot, scope) => {
      inner.start(snapshot, scope)
      if (restored.has(scope.self)) scope.self._parent?.send(standingOf(snapshot))
    },
  }))
}

const standingOf = ({ tags }: AnyMachineSnapshot): RunStands => ({
  type: tags.has('waiting') ? 'run.waiting' : 'run.working',
})

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
