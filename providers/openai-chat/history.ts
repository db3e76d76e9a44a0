import { isJsonObject, type JsonObject, ownValue } from '../../src/messages/json.ts'
import { type ChatMessage, textOf, toolCallsOf } from '../../src/messages/messages.ts'
import { conversationOf, opaqueOf } from '../wire/conversation.ts'
import type { Target } from '../wire/protocol.ts'
import { arrayAt, stringAt } from '../wire/wireJson.ts'
import { chatForms } from './attachments.ts'
import { callIds } from './callIds.ts'
import { callIdRule, type OpenAIChatProfile } from './profile.ts'
import type { ReasoningField } from './reasoning.ts'
import { bridged, functionCall, userMessages } from './wireMessages.ts'

/** A history as the `messages` of a request: the system text first, then each turn in its own role. */
export const chatMessages = (
  messages: readonly ChatMessage[],
  target: Target<OpenAIChatProfile>,
): JsonObject[] => {
  const { systemRole = 'system', bridgesToolResults = false } = target.profile
  const { system, turns } = conversationOf(messages)
  const wireId = callIds(messages, 'openai-chat', target, callIdRule(target.profile))
  const forms = chatForms(target.profile)
  const wire: JsonObject[] = [
    ...(system === '' ? [] : [{ role: systemRole, content: system }]),
    ...turns.flatMap((turn) =>
      turn.role === 'model'
        ? assistantMessage(turn, target, wireId)
        : userMessages(turn, wireId, target, forms),
    ),
  ]
  return bridgesToolResults ? bridged(wire, { role: 'assistant', content: 'OK.' }) : wire
}

const assistantMessage = (
  turn: ChatMessage,
  target: Target<OpenAIChatProfile>,
  wireId: (id: string) => string,
): JsonObject[] => {
  const opaque = opaqueOf(turn, 'openai-chat', target.provider)
  // A spoken answer goes back as its words: the recording itself expires.
  const text = textOf(turn) || (stringAt(turn.metadata, 'transcript') ?? '')
  const calls = toolCallsOf(turn)
  if (text === '' && calls.length === 0) return []
  const extras = arrayAt(opaque, 'extraContent') ?? []
  const toolCalls = calls.map((call, at): JsonObject => {
    const extra = extras[at]
    return { ...functionCall(call, wireId), ...(isJsonObject(extra) && { extra_content: extra }) }
  })
  return [
    {
      role: 'assistant',
      content: text === '' ? null : text,
      ...(calls.length > 0 && { tool_calls: toolCalls }),
      ...reasoningOf(turn, opaque, target),
    },
  ]
}

const reasoningOf = (
  turn: ChatMessage,
  opaque: JsonObject | undefined,
  { model, profile }: Target<OpenAIChatProfile>,
): JsonObject => {
  const { reasoningReplay } = profile
  const thinking = turn.metadata ? ownValue(turn.metadata, 'thinking') : undefined
  const hasCalls = toolCallsOf(turn).length > 0
  if (reasoningReplay === 'reasoning' || reasoningReplay === 'reasoning_content') {
    const text = opaque?.thinking === true && typeof thinking === 'string' ? thinking : ''
    // DeepSeek wants the field on every message with calls, empty if need be.
    return text !== '' || hasCalls ? { [reasoningReplay]: text } : {}
  }
  // Signatures and encrypted blocks are only good for the model that made them, and others may not know the field.
  if (reasoningReplay === 'none' || opaque?.model !== model) return {}
  const details = arrayAt(opaque, 'reasoningDetails')
  if (details) return { reasoning_details: details }
  const field = stringAt(opaque, 'reasoningField')
  // Without calls the turn is over, and its reasoning is no longer needed.
  return hasCalls && typeof thinking === 'string' && isReasoningField(field) ? { [field]: thinking } : {}
}

/** A history may come from anywhere: it must not name any other field of a request. */
const isReasoningField = (field: string | undefined): field is ReasoningField =>
  field === 'reasoning' || field === 'reasoning_content'
