import type { AnyActorRef, InspectionEvent, Snapshot } from 'xstate'

/** An inspector that keeps what happened to whom, in words. */
export const inspection = () => {
  const seen: string[] = []
  return { seen, inspect: (event: InspectionEvent) => void seen.push(inWords(event)) }
}

/** What XState's types do not name is left out: the numbers it gives to actors, and its word for a stop. */
const inWords = (event: InspectionEvent): string =>
  `${event.type} ${(event.actorRef as AnyActorRef).id} ${detailOf(event)}`
    .replaceAll(/\bx:\d+/g, 'x')
    .replace(/xstate\.(stop|halt)\b/, 'stop')

const detailOf = (event: InspectionEvent): string => {
  if (event.type === '@xstate.actor') return ''
  if (event.type === '@xstate.action') return event.action.type
  if (event.type === '@xstate.event') return event.event.type
  const { value, status } = event.snapshot as Snapshot<unknown> & { value?: unknown }
  const taken = event.type === '@xstate.microstep' ? event._transitions.map(({ eventType }) => eventType) : []
  return [event.event.type, JSON.stringify(value), status, ...taken].join(' ')
}
