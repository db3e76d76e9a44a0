import type { InspectionEvent } from 'xstate'

/** A state as a path: `Accumulating.Streaming`. */
export const stateName = (value: unknown): string => {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return ''
  return Object.entries(value)
    .map(([name, inner]) => [name, stateName(inner)].filter((part) => part !== '').join('.'))
    .join(' + ')
}

/** Reports each state that the run itself enters, also those it only passes through. */
export const stateWatcher = (enter: (name: string) => void): ((event: InspectionEvent) => void) => {
  let shown = ''
  return (event) => {
    if (event.type !== '@xstate.microstep' || event.actorRef.sessionId !== event.rootId) return
    const name = 'value' in event.snapshot ? stateName(event.snapshot.value) : ''
    if (name === '' || name === shown) return
    shown = name
    enter(name)
  }
}
