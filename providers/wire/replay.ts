import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import {
  type ChatMessage,
  type DataPart,
  type LinkPart,
  type ToolCallPart,
  textOf,
  toolCallsOf,
} from '../../src/messages/messages.ts'

// An answer goes back in the order in which its blocks came, because signatures and encrypted blocks only count there. What
// is kept for that repeats nothing of the message: an entry is the next `text` by its length, the next `call` or `media` by
// its number, each with what only the provider understands, or a block of its own.

/** The words of a protocol for the pieces of an answer, each with its entry. */
export type Pieces = {
  text(text: string, entry: JsonObject): JsonObject
  call(call: ToolCallPart, entry: JsonObject): JsonObject | undefined
  media?(part: DataPart | LinkPart, entry: JsonObject): JsonObject | undefined
  /** The block that an entry is by itself; undefined for any other. */
  block(entry: JsonObject): JsonObject | undefined
}

/** The blocks of a model message as they came; undefined where it is not the message that the entries were taken from. */
export const rebuilt = (
  message: ChatMessage,
  entries: readonly JsonValue[],
  write: Pieces,
): JsonObject[] | undefined => {
  const text = textOf(message)
  const calls = toolCallsOf(message)
  const media = message.parts.filter((part) => part.type === 'data' || part.type === 'link')
  const left = { calls: new Set(calls), media: new Set(media) }
  let at = 0
  const blocks: JsonObject[] = []
  for (const entry of entries) {
    if (!isJsonObject(entry)) return undefined
    let block = write.block(entry)
    const call = calls[Number(entry.call)]
    const part = media[Number(entry.media)]
    if (!block && typeof entry.text === 'number') {
      block = write.text(text.slice(at, at + entry.text), entry)
      at += entry.text
    } else if (!block && call && left.calls.delete(call)) block = write.call(call, entry)
    else if (!block && part && left.media.delete(part)) block = write.media?.(part, entry)
    if (!block) return undefined
    blocks.push(block)
  }
  const isWhole = at === text.length && left.calls.size + left.media.size === 0
  return isWhole && !message.parts.some(({ type }) => type === 'toolResult') ? blocks : undefined
}
