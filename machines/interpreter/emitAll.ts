import type { AnyActorScope, EventObject } from 'xstate'

type Listener = (event: EventObject) => void
type Listeners = ReadonlyMap<string, ReadonlySet<Listener>>

/**
 * Emits events one after the other, as XState does. For each of them XState copies the lists of its listeners, since
 * they may come and go meanwhile; where there is only one, that can change nothing.
 */
export const emitAll = (scope: AnyActorScope, events: readonly EventObject[]): void => {
  // XState's types keep this to themselves.
  const { eventListeners } = scope.self as unknown as { eventListeners?: Listeners }
  for (const event of events) {
    const listener = eventListeners && onlyListener(eventListeners, event.type)
    if (listener) tell(listener, event)
    else scope.emit(event)
  }
}

const onlyListener = (listeners: Listeners, type: string): Listener | undefined => {
  const own = listeners.get(type)
  const all = listeners.get('*')
  const count = (own?.size ?? 0) + (all?.size ?? 0)
  const [only] = count === 1 ? ((own?.size ? own : all) ?? []) : []
  return only
}

/** What a listener throws is for the process, not for the run. */
const tell = (listener: Listener, event: EventObject): void => {
  try {
    listener(event)
  } catch (thrown) {
    setTimeout(() => {
      throw thrown
    })
  }
}
