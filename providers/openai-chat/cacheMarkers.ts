import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import type { PromptCache } from '../../src/model/chatModel.ts'
import { cacheMarker, requestEnds } from '../wire/promptCache.ts'

/**
 * Marks the system prompt, the last message and the one that the request before ended with, for gateways that hand
 * markers on to Anthropic.
 */
export const markedMessages = (
  messages: readonly JsonObject[],
  cache: PromptCache | undefined,
): JsonObject[] => {
  const marker = cacheMarker(cache)
  if (!marker) return [...messages]
  const ends = requestEnds(messages)
  return messages.map((message, index) =>
    ends.includes(index) || (index === 0 && message.role === 'system')
      ? { ...message, content: markedContent(message.content ?? null, marker) }
      : message,
  )
}

/** Only text carries a marker here, and not the empty one. */
const markedContent = (content: JsonValue, marker: JsonObject): JsonValue => {
  if (typeof content === 'string') {
    return content.trim() === '' ? content : [{ type: 'text', text: content, cache_control: marker }]
  }
  if (!Array.isArray(content)) return content
  const at = content.findLastIndex((block) => isJsonObject(block) && block.type === 'text')
  const block = content[at]
  return isJsonObject(block) ? content.with(at, { ...block, cache_control: marker }) : content
}
