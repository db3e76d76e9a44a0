import type { AnyActorRef, InspectionEvent } from 'xstate'
import type { RunInspector } from './runEnvironment.ts'

/**
 * Shows a run to inspectors, wherever it runs: XState takes an `inspect` only for the root of a system, and the run may
 * be the child of a machine that has none. The inspectors see this run and what is below it, and nothing else of the
 * system. What happens while the actor is made is shown when it starts: actors of pure functions are never started.
 */
export const inspectRun = (self: AnyActorRef, inspectors: readonly RunInspector[]): void => {
  const show = (event: InspectionEvent) => {
    for (const inspector of inspectors) inspector(event)
  }
  // XState has announced the actor already.
  let early: InspectionEvent[] | undefined = [
    { type: '@xstate.actor', actorRef: self, rootId: rootOf(self).sessionId },
  ]
  const subscription = self.system.inspect((event) => {
    const isOwn = event.actorRef === self
    if (early && event.type === '@xstate.event' && isOwn) {
      const until = early
      early = undefined
      for (const each of until) show(each)
    }
    if (isOwn || isBelow(self, event.actorRef)) {
      if (early) early.push(event)
      else show(event)
    }
    if (!early && isOver(self, isOwn ? event : undefined)) subscription.unsubscribe()
  })
}

/** The last event of a run is its last snapshot, except that one that breaks has none. */
const isOver = (self: AnyActorRef, event: InspectionEvent | undefined): boolean => {
  const { status } = self.getSnapshot()
  return status === 'error' || (status !== 'active' && event?.type === '@xstate.snapshot')
}

const isBelow = (self: AnyActorRef, actor: object): boolean => {
  const { _parent: parent }: { _parent?: object } = actor
  return parent !== undefined && (parent === self || isBelow(self, parent))
}

const rootOf = (actor: AnyActorRef): AnyActorRef => (actor._parent ? rootOf(actor._parent) : actor)
