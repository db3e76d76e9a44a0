import type { JsonObject } from '../messages/json.ts'
import type { ActorRecord } from './ActorRecord.ts'
import { accepts } from './actorRow.ts'
import type { Recorder } from './Recorder.ts'
import { Refusal } from './requests.ts'

const longestReason = 2_000

/** Sends what a person clicked to the actor it is meant for. Nothing but these three events can be sent. */
export const obey = ({ actors }: Recorder, { actor, type, callId, reason }: JsonObject): void => {
  const record = typeof actor === 'number' ? actors.get(actor) : undefined
  if (!record) throw new Refusal(404, 'This actor is not known.')
  switch (type) {
    case 'abort':
      send(record, { type, reason: 'from the inspector' })
      break
    case 'tool.approve':
      send(record, { type, callId: textOf(callId) })
      break
    case 'tool.reject':
      send(record, {
        type,
        callId: textOf(callId),
        ...(typeof reason === 'string' && reason !== '' && { reason: reason.slice(0, longestReason) }),
      })
      break
    default:
      throw new Refusal(400, 'This is not a command.')
  }
}

const send = (record: ActorRecord, event: { type: string; callId?: string; reason?: string }): void => {
  const { ref } = record
  if (ref?.getSnapshot().status !== 'active') throw new Refusal(409, 'This actor has ended.')
  if (!accepts(record, event.type)) throw new Refusal(409, `This actor knows no "${event.type}".`)
  ref.send(event)
}

const textOf = (value: unknown): string => {
  if (typeof value !== 'string') throw new Refusal(400, 'The id of the call is missing.')
  return value
}
