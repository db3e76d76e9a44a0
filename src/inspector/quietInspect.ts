import type { AnyEventObject, InspectionEvent, Snapshot } from 'xstate'
import { statePath } from '../../machines/agent/states.ts'
import type { Inspect } from '../agent/watching.ts'

type SnapshotEvent = Extract<InspectionEvent, { type: '@xstate.snapshot' }>

/**
 * Filters events for an inspector that is too slow for streams, such as those of `@statelyai/inspect`, which copy the
 * whole context at each event. Actors, events and state changes pass. Of the reads of a streamed answer only the last
 * snapshot passes. Microsteps and actions do not pass: those inspectors do not use them.
 *
 * @example
 * import { createWebSocketInspector } from '@statelyai/inspect'
 *
 * const stately = createWebSocketInspector({ url: 'ws://localhost:8080' })
 * const agent = new Agent('openai:gpt-6-luna', { inspect: quietInspect(stately.inspect) })
 */
export const quietInspect = (inspect: Inspect): ((event: InspectionEvent) => void) => {
  const pass = typeof inspect === 'function' ? inspect : (event: InspectionEvent) => inspect.next?.(event)
  const held = new WeakMap<object, SnapshotEvent>()
  const shown = new WeakMap<object, Snapshot<unknown>>()
  const catchUp = (actor: object) => {
    const last = held.get(actor)
    if (!last) return
    held.delete(actor)
    pass(last)
  }
  return (event) => {
    switch (event.type) {
      case '@xstate.actor':
        return pass(event)
      case '@xstate.event':
        if (isRead(event.event)) return
        catchUp(event.actorRef)
        return pass(event)
      case '@xstate.snapshot':
        if (isRead(event.event) && !isOtherState(shown.get(event.actorRef), event.snapshot)) {
          held.set(event.actorRef, event)
          return
        }
        catchUp(event.actorRef)
        shown.set(event.actorRef, event.snapshot)
        return pass(event)
    }
  }
}

const isOtherState = (before: Snapshot<unknown> | undefined, now: Snapshot<unknown>): boolean => {
  if (!before || before.status !== now.status) return true
  // The fast path for reads keeps the value itself.
  const { value } = now as { value?: unknown }
  const { value: last } = before as { value?: unknown }
  return last !== value && statePath(last) !== statePath(value)
}

/** Recognises a piece of a streamed answer: from a model to its agent, or from an agent to its orchestrator. */
export const isRead = (event: AnyEventObject): boolean =>
  event.type === 'model.deltas' ||
  (event.type === 'run.emitted' && Array.isArray(event.emitted) && event.emitted.every(isPiece))

const isPiece = (emitted: { type?: unknown; messages?: unknown } | undefined): boolean =>
  emitted?.type === 'tool.delta' ||
  (emitted?.type === 'chunk' && Array.isArray(emitted.messages) && emitted.messages.length === 0)
