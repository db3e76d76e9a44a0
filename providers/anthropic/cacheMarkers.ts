import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import type { PromptCache } from '../../src/model/chatModel.ts'
import { cacheMarker, requestEnds } from '../wire/promptCache.ts'
import { arrayAt, stringAt } from '../wire/wireJson.ts'
import { isThinking } from './wireMessage.ts'

/**
 * Marks a request so that the next one reads it from the cache: the last tool, the system prompt, the last message and
 * the one that the request before ended with. The API accepts four markers at most: a body with the user's own markers
 * gets none of ours.
 */
export const withCacheMarkers = (body: JsonObject, cache: PromptCache | undefined): JsonObject => {
  const marker = cacheMarker(cache)
  if (!marker || isMarked(body)) return body
  const messages = (arrayAt(body, 'messages') ?? []).filter(isJsonObject)
  const ends = requestEnds(messages)
  const tools = arrayAt(body, 'tools')
  return {
    ...body,
    ...(body.system !== undefined && { system: markedLast(blocksOf(body.system), marker, isMarkable) }),
    messages: messages.map((message, index) =>
      ends.includes(index)
        ? { ...message, content: markedLast(blocksOf(message.content), marker, isMarkable) }
        : message,
    ),
    // A tool that is loaded later is not in the prefix.
    ...(tools && { tools: markedLast(tools, marker, (tool) => tool.defer_loading !== true) }),
  }
}

const blocksOf = (content: JsonValue | undefined): JsonValue[] => {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return Array.isArray(content) ? content : []
}

const markedLast = (
  items: readonly JsonValue[],
  marker: JsonObject,
  fits: (item: JsonObject) => boolean,
): JsonValue[] => {
  const at = items.findLastIndex((item) => isJsonObject(item) && fits(item))
  const item = items[at]
  return isJsonObject(item) ? items.with(at, { ...item, cache_control: marker }) : [...items]
}

/** Neither thinking nor empty text may be marked. */
const isMarkable = (block: JsonObject): boolean =>
  block.type === 'text' ? (stringAt(block, 'text') ?? '').trim() !== '' : !isThinking(block)

const isMarked = (body: JsonObject): boolean => {
  const messages = arrayAt(body, 'messages') ?? []
  const blocks = messages.flatMap((message) => (isJsonObject(message) ? blocksOf(message.content) : []))
  return [body, ...(arrayAt(body, 'tools') ?? []), ...blocksOf(body.system), ...blocks].some(
    (place) => isJsonObject(place) && place.cache_control !== undefined,
  )
}
