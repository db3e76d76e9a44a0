import type { JsonObject } from '../../src/messages/json.ts'
import {
  type ChatMessage,
  type DataPart,
  type LinkPart,
  type ToolCallPart,
  toolResultsOf,
} from '../../src/messages/messages.ts'
import { textIn } from './attachments.ts'

/** A user turn on the wire: tool results come first, each as a message of its own. */
export const userMessages = (
  turn: ChatMessage,
  wireId: (id: string) => string,
  attach: (part: DataPart | LinkPart) => JsonObject,
): JsonObject[] => {
  const results = toolResultsOf(turn).map(
    ({ id, result }): JsonObject => ({ role: 'tool', tool_call_id: wireId(id), content: result }),
  )
  const parts = turn.parts.filter((part) => part.type !== 'toolCall' && part.type !== 'toolResult')
  if (parts.length === 0) return results
  const texts = parts.map(textIn).filter((text) => text !== undefined)
  // Plain text goes as a string: not every server reads lists.
  if (texts.length === parts.length) return [...results, { role: 'user', content: texts.join('\n\n') }]
  const content = parts.flatMap((part): JsonObject[] => {
    const text = textIn(part)
    if (text !== undefined) return text === '' ? [] : [{ type: 'text', text }]
    return part.type === 'text' ? [] : [attach(part)]
  })
  return [...results, { role: 'user', content }]
}

export const functionCall = (call: ToolCallPart, wireId: (id: string) => string): JsonObject => ({
  id: wireId(call.id),
  type: 'function',
  function: { name: call.name, arguments: argumentsText(call) },
})

/** Arguments that never parsed are not sent back: servers that parse the history would refuse it for ever. */
const argumentsText = (call: ToolCallPart): string =>
  call.argumentsError === undefined ? (call.argumentsRaw ?? JSON.stringify(call.arguments)) : '{}'

/** Puts a word of the assistant between tool results and the user's next message. */
export const bridged = (messages: JsonObject[], bridge: JsonObject): JsonObject[] =>
  messages.flatMap((message, at) =>
    message.role === 'user' && messages[at - 1]?.role === 'tool' ? [bridge, message] : [message],
  )
