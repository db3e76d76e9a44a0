import type { JsonObject } from '../../src/messages/json.ts'
import { type ChatMessage, textOf, toolCallsOf, toolResultsOf } from '../../src/messages/messages.ts'
import { ollamaForms } from '../wire/attachmentForms.ts'
import { attachmentBlocks, readableBlock, resultAndFollowUp } from '../wire/attachments.ts'
import { stringAt } from '../wire/json.ts'
import type { Target } from '../wire/protocol.ts'
import { opaqueOf, roleMessages, thinkingOf, wireIdsOf } from '../wire/request.ts'
import type { OllamaProfile } from './profile.ts'

/** The history as Ollama wants it: one content text per message, images beside it, one message per tool result. */
export const ollamaMessages = (
  messages: readonly ChatMessage[],
  target: Target<OllamaProfile>,
): JsonObject[] => {
  const wireId = wireIdsOf(messages)
  return roleMessages(messages, target, wireId, {
    model: (turn) => assistantMessages(turn, wireId, target),
    user: (turn) => userMessages(turn, wireId, target),
  })
}

/** Tool messages hold text alone: the images of results are the first that the user's message shows. */
const userMessages = (
  turn: ChatMessage,
  wireId: (id: string) => string,
  target: Target<OllamaProfile>,
): JsonObject[] => {
  const blocks: JsonObject[] = []
  const results = toolResultsOf(turn).map((part) => {
    const { text, followUp } = resultAndFollowUp(part, target, ollamaForms)
    blocks.push(...followUp)
    return {
      role: 'tool',
      content: text,
      tool_name: part.name,
      ...idUnder('tool_call_id', wireId(part.id)),
    }
  })
  for (const part of turn.parts) {
    if (part.type === 'text') blocks.push({ text: part.text })
    if (part.type === 'data' || part.type === 'link') {
      blocks.push(...attachmentBlocks(part, target, ollamaForms))
    }
  }
  const content = textsIn(blocks, 'text').join('\n\n')
  const images = textsIn(blocks, 'image')
  if (content === '' && images.length === 0) return results
  return [...results, { role: 'user', content, ...(images.length > 0 && { images }) }]
}

const textsIn = (blocks: readonly JsonObject[], key: 'text' | 'image'): string[] =>
  blocks.map((block) => stringAt(block, key)).filter((text) => text !== undefined)

const assistantMessages = (
  turn: ChatMessage,
  wireId: (id: string) => string,
  target: Target<OllamaProfile>,
): JsonObject[] => {
  const content = textOf(turn)
  const calls = toolCallsOf(turn).map((call) => ({
    ...idUnder('id', wireId(call.id)),
    function: { name: call.name, arguments: call.argumentsError === undefined ? call.arguments : {} },
  }))
  // Pictures another provider's model made are shown where they can be seen, and left out where not.
  const media = turn.parts.filter((part) => part.type === 'data' || part.type === 'link')
  const shown = media.map((part) => readableBlock(part, target, ollamaForms))
  const images = textsIn(
    shown.filter((block) => block !== undefined),
    'image',
  )
  const thinking = calls.length > 0 ? ownThinking(turn, target) : undefined
  if (content === '' && calls.length === 0 && images.length === 0) return []
  return [
    {
      role: 'assistant',
      content,
      ...(thinking !== undefined && { thinking }),
      ...(images.length > 0 && { images }),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
  ]
}

/** Ollama's tool loop sends the thoughts that led to a call back beside the call. */
const ownThinking = (turn: ChatMessage, target: Target<OllamaProfile>): string | undefined => {
  if (target.profile.forgetThinking || !opaqueOf(turn, 'ollama', target.provider)) return undefined
  return thinkingOf(turn) || undefined
}

const idUnder = (key: 'id' | 'tool_call_id', id: string): JsonObject => (id === '' ? {} : { [key]: id })
