import type {
  AnyActor,
  AnyActorRef,
  AnyActorScope,
  AnyEventObject,
  AnyMachineSnapshot,
  Snapshot,
} from 'xstate'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { isJsonObject } from '../../src/messages/json.ts'
import type { AgentEmitted, AgentReport } from '../agent/events.ts'
import { giveValues, hostOf, valuesOf } from './runEnvironment.ts'
import { type AnyRunMachine, isChart, wrapLogic } from './wrapLogic.ts'

/** The report of a run to its parent: everything that one of its steps emitted, in order. */
export type RunEmitted = { type: 'run.emitted'; emitted: readonly AgentEmitted[] }

/** The report of a run to its parent that it waits for people, or works again. */
export type RunStatusEvent = { type: 'run.waiting' } | { type: 'run.working' }

/** Makes the report of a step of a run to the user's machine above it; undefined for a step that needs none. */
export type StepReport = (
  before: AnyMachineSnapshot | undefined,
  after: AnyMachineSnapshot,
  id: string,
) => AgentReport | undefined

/**
 * Does around each step of a run what XState leaves to its caller.
 *
 * - The host of the run stores a step before it takes effect: XState runs deferred effects in order, so what is deferred
 *   before the step comes first.
 * - A chart that breaks, because a user's guard or action throws, stops its children: no socket stays open, no tool keeps
 *   running.
 * - A restored chart gets the end of children that had already ended. A snapshot may be taken while the done event of a
 *   child is on its way: XState keeps the child then, but not the event. Starting the child again repeats it.
 * - The context of the tools, which comes with the input, is kept out of what is stored.
 * - A child whose snapshot is refused starts, and fails: XState never starts one that it could not restore, and its
 *   parent would wait for ever.
 * - A run inside a user's machine reports to it when it waits, works again, and ends.
 * - A run of a chart that is made of runs reports to it what it emits, and when it waits: XState does not pass on what a
 *   child emits. All that one step emits is one event.
 */
export const supervise = (
  machine: AnyRunMachine,
  reportsToParent: boolean,
  reportOf: StepReport | undefined,
): AnyRunMachine => {
  const restored = new WeakSet<AnyActorRef>()
  const refused = new WeakMap<AnyMachineSnapshot, Refusal>()
  const reporting = new WeakMap<AnyActorScope, AnyActorScope>()
  const scopeOf = (scope: AnyActorScope): AnyActorScope => {
    if (!reportsToParent) return scope
    const known = reporting.get(scope) ?? reportingScope(scope)
    reporting.set(scope, known)
    return known
  }
  return wrapLogic('supervise', machine, (inner) => ({
    getInitialSnapshot: (scope, input) => {
      const host = hostOf(scope.self)
      // A run that ends at once is never started.
      if (host.writeAhead) scope.defer(() => host.writeAhead?.())
      const first: AnyMachineSnapshot = inner.getInitialSnapshot(
        scopeOf(scope),
        withoutContext(scope.self, input),
      )
      if (reportOf) reportToApp(reportOf, undefined, first, scope)
      return first
    },
    transition: (snapshot: AnyMachineSnapshot, event, scope) => {
      writeFirst(snapshot, event, scope)
      try {
        const next: AnyMachineSnapshot = inner.transition(snapshot, event, scopeOf(scope))
        if (reportsToParent) reportWait(snapshot, next, scope)
        else if (reportOf) reportToApp(reportOf, snapshot, next, scope)
        return next
      } catch (thrown) {
        stopChildren(snapshot, scope)
        throw thrown
      }
    },
    restoreSnapshot: (stored, scope) => {
      restored.add(scope.self)
      try {
        const snapshot: AnyMachineSnapshot = inner.restoreSnapshot(stored, scope)
        checkContext(snapshot, scope.self)
        return snapshot
      } catch (reason) {
        if (!scope.self._parent) throw reason
        const snapshot = noSnapshot(machine)
        refused.set(snapshot, { stored, reason })
        return snapshot
      }
    },
    getPersistedSnapshot: (snapshot: AnyMachineSnapshot, options) =>
      refused.get(snapshot)?.stored ?? inner.getPersistedSnapshot(snapshot, options),
    start: (snapshot: AnyMachineSnapshot, scope) => {
      const refusal = refused.get(snapshot)
      if (refusal) throw refusal.reason
      hostOf(scope.self).writeAhead?.()
      // Before the others start: one that ends at once reports its end itself.
      const ended = Object.values<AnyActor>(snapshot.children).filter(
        (child) => child.getSnapshot().status !== 'active',
      )
      inner.start(snapshot, scope)
      for (const child of ended) child.start()
      // A parent that was stored before it got the report of a wait, or of its end, gets it now.
      if (reportsToParent && restored.has(scope.self)) scope.self._parent?.send(statusEvent(snapshot))
    },
  }))
}

/** Defers the host's write to the front of the effects of a step. */
const writeFirst = (before: AnyMachineSnapshot, event: AnyEventObject, scope: AnyActorScope): void => {
  const host = hostOf(scope.self)
  if (!host.writeAhead) return
  scope.defer(() => {
    host.onEvent?.(event)
    const after: AnyMachineSnapshot = scope.self.getSnapshot()
    if (isStoredLater(event, before, after) || isUnchanged(before, after)) return
    try {
      host.writeAhead?.()
    } catch (thrown) {
      // The step does not take effect, so it does not stop the children that it was to stop either.
      stopChildren(before, scope)
      stopChildren(after, scope)
      throw thrown
    }
  })
}

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

const stopChildren = ({ children }: AnyMachineSnapshot, scope: AnyActorScope): void => {
  for (const child of Object.values<AnyActorRef>(children)) scope.stopChild(child)
}

/** Reports the begin or end of a wait. Deferred twice, as emissions are: what the run says comes first. */
const reportWait = (before: AnyMachineSnapshot, after: AnyMachineSnapshot, scope: AnyActorScope): void => {
  if (after.tags !== before.tags && after.tags.has('waiting') !== before.tags.has('waiting'))
    scope.defer(() => scope.defer(() => scope.self._parent?.send(statusEvent(after))))
}

const statusEvent = ({ tags }: AnyMachineSnapshot): RunStatusEvent => ({
  type: tags.has('waiting') ? 'run.waiting' : 'run.working',
})

/** The scope of an actor whose emissions also go to its parent, those of one step together. */
const reportingScope = (scope: AnyActorScope): AnyActorScope => {
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
      // Emissions are deferred to the end of a step, one by one: what is deferred now comes after the last of them.
      if (unreported.length === 0) scope.defer(report)
      unreported.push(emitted)
    },
  }
}

/** Takes the context of the tools out of the input of a run. What is stored says only that there was one. */
const withoutContext = (self: AnyActorRef, input: unknown): unknown => {
  if (!isJsonObject(input) || input.context === undefined) return input
  const { context, ...stored } = input
  giveValues(self, { context })
  return { ...stored, hasContext: true }
}

/** Refuses a run that had a context before it was stored, and now has none: its tools would get `undefined`. */
const checkContext = ({ context }: AnyMachineSnapshot, self: AnyActorRef): void => {
  // A chart of phases keeps its input, a single run its options.
  const { options, input } = context
  const { hasContext } = Object(options ?? input)
  if (hasContext !== true || valuesOf(self).context !== undefined) return
  throw new ConfigurationError(
    'The run was given a context, which is not stored: restore it with agent.machineFor(schema, { context }) in place of agent.machine, without a schema if it had none.',
  )
}

/** A stored snapshot that was refused, and why. */
type Refusal = { stored: Snapshot<unknown>; reason: unknown }

/** The snapshot of a run that cannot be restored, until it starts and fails. */
const noSnapshot = ({ root }: AnyRunMachine): AnyMachineSnapshot =>
  root.machine.resolveState({ value: {}, context: {} })

/** Reports to the user's machine that invoked or spawned the run. Deferred twice, as emissions are. */
const reportToApp = (
  reportOf: StepReport,
  before: AnyMachineSnapshot | undefined,
  after: AnyMachineSnapshot,
  scope: AnyActorScope,
): void => {
  const { _parent: parent, id } = scope.self
  if (!parent || !('logic' in parent) || !isChart(Object(parent.logic))) return
  const report = reportOf(before, after, id)
  if (!report) return
  // Around this machine may be one that turns the text of the answer into a value.
  const last = () =>
    report.type === 'agent.done' ? { ...report, output: scope.self.getSnapshot().output } : report
  scope.defer(() => scope.defer(() => parent.send(last())))
}
