import { endsCompacted } from '../../src/messages/compaction.ts'
import type { ErrorData } from '../../src/messages/errors.ts'
import { isJsonObject, ownValue } from '../../src/messages/json.ts'
import type { ChatMessage } from '../../src/messages/messages.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import { opaqueOf } from '../wire/conversation.ts'
import { stringAt } from '../wire/wireJson.ts'
import { protocolName } from './replay.ts'

/** The response a request continues: its id, and its place among the turns. */
export type PreviousResponse = { id: string; position: number }

/**
 * The newest response of this provider that has anything after it. A response that nothing follows is being asked
 * for again, so it is the one before it that gets continued.
 */
export const previousResponseOf = (
  turns: readonly ChatMessage[],
  provider: string,
): PreviousResponse | undefined => {
  // The provider would bring back what was compacted.
  const last = turns.at(-1)
  if (last && endsCompacted(last)) return undefined
  for (let position = turns.length - 2; position >= 0; position -= 1) {
    const turn = turns[position]
    if (turn && endsCompacted(turn)) return undefined
    if (turn?.role !== 'model') continue
    const id = stringAt(opaqueOf(turn, protocolName, provider), 'responseId')
    if (id) return { id, position }
  }
  return undefined
}

/** The same request with no response to continue: mapped again, it carries the whole history. Undefined if it did already. */
export const withoutPreviousResponse = (request: ModelRequest): ModelRequest | undefined => {
  const messages = request.messages.map(withoutResponseId)
  return messages.some((message, at) => message !== request.messages[at])
    ? { ...request, messages }
    : undefined
}

const withoutResponseId = (message: ChatMessage): ChatMessage => {
  const data = message.metadata && ownValue(message.metadata, protocolName)
  if (!isJsonObject(data) || !Object.hasOwn(data, 'responseId')) return message
  const { responseId: _, ...rest } = data
  return { ...message, metadata: { ...message.metadata, [protocolName]: rest } }
}

/** Servers differ in words: forgotten, not stored, not allowed for the account, or the parameter not known at all. */
const aboutPreviousResponse = /previous[ _]response|\bresponse with id\b.*not found/i

/** Whether a request failed because the provider cannot continue the response it named. */
export const isUnknownPreviousResponse = (error: ErrorData): boolean => {
  if (error.code === 'previous_response_not_found') return true
  const refused = error.status === undefined || [400, 404, 422].includes(error.status)
  return error.name === 'ModelError' && refused && aboutPreviousResponse.test(error.message)
}
