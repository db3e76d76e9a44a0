import type { JsonObject } from '../../src/messages/json.ts'
import { type ChatMessage, type ToolCallPart, toolResultsOf } from '../../src/messages/messages.ts'
import { type AttachmentForms, attachmentBlocks, resultAndFollowUp } from '../wire/attachments.ts'
import type { Target } from '../wire/protocol.ts'
import { stringAt } from '../wire/wireJson.ts'

/**
 * A user turn on the wire: tool results come first, each as its own message. Those are text only, so the files of
 * results come first in the user's message.
 */
export const userMessages = (
  turn: ChatMessage,
  wireId: (id: string) => string,
  target: Target,
  forms: AttachmentForms,
): JsonObject[] => {
  const shown: JsonObject[] = []
  const results = toolResultsOf(turn).map((part): JsonObject => {
    const { text, followUp } = resultAndFollowUp(part, target, forms)
    shown.push(...followUp)
    return { role: 'tool', tool_call_id: wireId(part.id), content: text }
  })
  const said = turn.parts.filter((part) => part.type !== 'toolCall' && part.type !== 'toolResult')
  for (const part of said) {
    if (part.type !== 'text') shown.push(...attachmentBlocks(part, target, forms))
    else if (part.text !== '') shown.push(forms.text(part.text))
  }
  return shown.length === 0 && said.length === 0
    ? results
    : [...results, { role: 'user', content: contentOf(shown) }]
}

/** Plain text goes as a string: not every server reads lists. */
const contentOf = (blocks: JsonObject[]): string | JsonObject[] => {
  const texts = blocks.map((block) => stringAt(block, 'text')).filter((text) => text !== undefined)
  return texts.length === blocks.length ? texts.join('\n\n') : blocks
}

export const functionCall = (call: ToolCallPart, wireId: (id: string) => string): JsonObject => ({
  id: wireId(call.id),
  type: 'function',
  function: { name: call.name, arguments: argumentsText(call) },
})

/** Arguments that never parsed are not sent back: servers that parse the history would refuse it for ever. */
const argumentsText = (call: ToolCallPart): string =>
  call.argumentsError === undefined ? (call.argumentsRaw ?? JSON.stringify(call.arguments)) : '{}'

/** Puts an assistant message between tool results and the user's next message. */
export const bridged = (messages: JsonObject[], bridge: JsonObject): JsonObject[] =>
  messages.flatMap((message, at) =>
    message.role === 'user' && messages[at - 1]?.role === 'tool' ? [bridge, message] : [message],
  )
