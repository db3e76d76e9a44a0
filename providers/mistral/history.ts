import type { JsonObject } from '../../src/messages/json.ts'
import { type ChatMessage, textOf, toolCallsOf } from '../../src/messages/messages.ts'
import { bridged, functionCall, userMessages } from '../openai-chat/history.ts'
import { callIds } from '../openai-chat/replay.ts'
import { mistralForms } from '../wire/attachmentForms.ts'
import { arrayAt } from '../wire/json.ts'
import type { Target } from '../wire/protocol.ts'
import { opaqueOf, roleMessages } from '../wire/request.ts'
import { type MistralProfile, mistralCallIds } from './profile.ts'
import { replayedContent } from './replay.ts'

/** A history as Mistral wants it: the system text first, and never a user right after a tool. */
export const mistralMessages = (
  messages: readonly ChatMessage[],
  target: Target<MistralProfile>,
): JsonObject[] => {
  const wireId = callIds(messages, 'mistral', target, mistralCallIds)
  const wire = roleMessages(messages, target, wireId, {
    model: (turn) => assistantMessage(turn, target, wireId),
    user: (turn) => userMessages(turn, wireId, target, mistralForms),
  })
  return bridged(wire, { role: 'assistant', content: 'OK.', prefix: false })
}

const assistantMessage = (
  turn: ChatMessage,
  target: Target<MistralProfile>,
  wireId: (id: string) => string,
): JsonObject[] => {
  const text = textOf(turn)
  const calls = toolCallsOf(turn)
  if (text === '' && calls.length === 0) return []
  const opaque = opaqueOf(turn, 'mistral', target.provider)
  const blocks = opaque?.model === target.model ? arrayAt(opaque, 'content') : undefined
  const toolCalls = calls.map((call, index): JsonObject => ({ ...functionCall(call, wireId), index }))
  return [
    {
      role: 'assistant',
      content: blocks ? replayedContent(blocks, text) : text,
      ...(calls.length > 0 && { tool_calls: toolCalls }),
      prefix: false,
    },
  ]
}
