import type { InspectionEvent, Snapshot } from 'xstate'
import type { Inspect } from '../agent/watching.ts'
import { isRead } from './isRead.ts'
import { stateOf } from './stateOf.ts'

type SnapshotEvent = Extract<InspectionEvent, { type: '@xstate.snapshot' }>

/**
 * Stands in front of an inspector that is too slow for streams, such as those of `@statelyai/inspect`: it copies the
 * whole context at each event. Actors, events and state changes pass; the reads of a streamed answer do not, only the
 * snapshot after the last of them. Microsteps and actions do not pass either: that inspector has no use for them.
 *
 * @example
 * import { createWebSocketInspector } from '@statelyai/inspect'
 *
 * const stately = createWebSocketInspector({ url: 'ws://localhost:8080' })
 * const agent = new Agent('openai:gpt-6-luna', { inspect: quietInspect(stately.inspect) })
 */
export const quietInspect = (inspect: Inspect): ((event: InspectionEvent) => void) => {
  const tell = typeof inspect === 'function' ? inspect : (event: InspectionEvent) => inspect.next?.(event)
  const held = new WeakMap<object, SnapshotEvent>()
  const shown = new WeakMap<object, Snapshot<unknown>>()
  const catchUp = (actor: object) => {
    const last = held.get(actor)
    if (!last) return
    held.delete(actor)
    tell(last)
  }
  return (event) => {
    switch (event.type) {
      case '@xstate.actor':
        return tell(event)
      case '@xstate.event':
        if (isRead(event.event)) return
        catchUp(event.actorRef)
        return tell(event)
      case '@xstate.snapshot':
        if (isRead(event.event) && !isOtherState(shown.get(event.actorRef), event.snapshot)) {
          held.set(event.actorRef, event)
          return
        }
        catchUp(event.actorRef)
        shown.set(event.actorRef, event.snapshot)
        return tell(event)
    }
  }
}

const isOtherState = (before: Snapshot<unknown> | undefined, now: Snapshot<unknown>): boolean => {
  if (!before || before.status !== now.status) return true
  // The lane for reads keeps the very value.
  const isSameValue = (before as { value?: unknown }).value === (now as { value?: unknown }).value
  return !isSameValue && stateOf(before) !== stateOf(now)
}
