import type { JsonObject } from '../../messages/json.ts'
import type { PendingCall } from '../../messages/result.ts'
import { Refusal } from '../Refusal.ts'
import type { TurnEvent } from '../turnEvents.ts'

/** Writes a turn in one of OpenAI's forms: event by event, or whole at the end. */
export type AnswerWriter = {
  hear(event: TurnEvent): void
  /** The turn broke after its beginning was sent. */
  fail(refusal: Refusal): void
  /** The whole answer. */
  result(): JsonObject
}

/** Sends an event of a stream; nowhere, if the client wants the whole answer. */
export type SendEvent = (data: JsonObject) => void

/** The calls that the client is to answer. One that needs a person has no form here. */
export const clientCalls = (calls: readonly PendingCall[]): readonly PendingCall[] => {
  const asked = calls.find(({ kind }) => kind !== 'answer')
  if (!asked) return calls
  throw new Refusal(
    500,
    'The agent asks for an approval, which this API does not have: give the agent onApproval.',
    'approval_required',
  )
}

/** What was sent cannot be taken back. */
export const cannotRestart = () =>
  new Refusal(500, 'The answer broke off, and would have to start over.', 'server_error')

export const seconds = (): number => Math.floor(Date.now() / 1000)
