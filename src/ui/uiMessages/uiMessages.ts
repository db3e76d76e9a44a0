import type { JsonObject, JsonValue } from '../../messages/json.ts'
import { type ChatMessage, type ToolResultPart, toolResultsOf } from '../../messages/messages.ts'
import { outputOf, problemOf } from '../turnEvents.ts'

/** A message as the AI SDK's hooks keep it. */
export type UiMessage = { id: string; role: 'user' | 'assistant'; parts: JsonObject[] }

/** A stored conversation as messages of the AI SDK: the first ones of a page. */
export const uiMessagesOf = (history: readonly ChatMessage[]): UiMessage[] => {
  const messages: UiMessage[] = []
  history.forEach((message, index) => {
    const results = toolResultsOf(message)
    const last = messages.at(-1)
    if (message.role === 'system') return
    if (message.role === 'user') {
      for (const result of results) settle(last, result)
      const parts = message.parts.flatMap(shownPart)
      if (parts.length > 0) messages.push({ id: `message-${index}`, role: 'user', parts })
      return
    }
    const parts = [{ type: 'step-start' }, ...thinkingOf(message), ...message.parts.flatMap(shownPart)]
    // All steps of an answer are one message.
    if (last?.role === 'assistant') last.parts.push(...parts)
    else messages.push({ id: `message-${index}`, role: 'assistant', parts })
  })
  return messages
}

const thinkingOf = ({ metadata }: ChatMessage): JsonObject[] =>
  typeof metadata?.thinking === 'string'
    ? [{ type: 'reasoning', text: metadata.thinking, state: 'done' }]
    : []

const shownPart = (part: ChatMessage['parts'][number]): JsonObject[] => {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text, state: 'done' }]
    case 'data':
      return [filePart(`data:${part.mimeType};base64,${part.data}`, part.mimeType, part.name)]
    case 'link':
      return [filePart(part.url, part.mimeType ?? 'application/octet-stream', part.name)]
    case 'toolCall': {
      const call = { type: `tool-${part.name}`, toolCallId: part.id, input: part.arguments }
      return [{ ...call, state: 'input-available' }]
    }
    case 'toolResult':
      return []
  }
}

const filePart = (url: string, mediaType: string, filename: string | undefined): JsonObject => ({
  type: 'file',
  url,
  mediaType,
  ...(filename !== undefined && { filename }),
})

/** The newest call of this id: another turn may have used it, too. */
const settle = (message: UiMessage | undefined, result: ToolResultPart): void => {
  const call = message?.parts.findLast(({ toolCallId }) => toolCallId === result.id)
  if (call) Object.assign(call, outcomeOf(result))
}

const outcomeOf = (result: ToolResultPart): { [key: string]: JsonValue } => {
  if (result.rejected) return { state: 'output-denied', approval: { id: result.id, approved: false } }
  if (result.isError) return { state: 'output-error', errorText: problemOf(result) }
  return { state: 'output-available', output: outputOf(result) }
}
