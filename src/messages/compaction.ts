import { isJsonObject } from './json.ts'
import { type ChatMessage, type Part, textOf, textPart } from './messages.ts'

/**
 * The reason for a compaction: the conversation was nearly too long, a provider refused it, or a command asked for it.
 */
export type CompactionReason = 'full' | 'overflow' | 'command'

/**
 * The data of a marker message, in `metadata.compaction`. The conversation itself stays complete. From the marker on,
 * the model sees the last `kept` messages before it unchanged; older messages are `summarised` in the text of the
 * marker, or shown with their tool results `cleared`.
 */
export type Compaction = {
  kind: 'cleared' | 'summarised'
  kept: number
  /** Estimates of the whole request. */
  tokensBefore: number
  tokensAfter: number
  reason: CompactionReason
}

/** The compaction that a message marks; undefined for any message that is not a marker. */
export const compactionOf = (message: ChatMessage): Compaction | undefined => {
  const { compaction } = message.role === 'system' ? (message.metadata ?? {}) : {}
  return isCompaction(compaction) ? compaction : undefined
}

const isCompaction = (value: unknown): value is Compaction =>
  isJsonObject(value) &&
  (value.kind === 'cleared' || value.kind === 'summarised') &&
  Number.isInteger(value.kept) &&
  Number(value.kept) >= 0

/** The message that marks where the conversation was compacted. */
export const compactionMarker = (compaction: Compaction, summary: string): ChatMessage => ({
  role: 'system',
  parts: summary === '' ? [] : [textPart(summary)],
  metadata: { compaction: { ...compaction } },
})

/** The last real message: a marker does not count. */
export const lastSaid = (history: readonly ChatMessage[]): ChatMessage | undefined => {
  const last = history.at(-1)
  return last?.role === 'system' ? history.findLast((message) => !compactionOf(message)) : last
}

/** The conversation as the model saw it right after a marker: it never changes. */
const seenAt = new WeakMap<ChatMessage, ChatMessage[]>()

/** The conversation as the model sees it: the same one unless it was compacted. */
export const seenOf = (history: ChatMessage[]): ChatMessage[] => {
  const at = history.findLastIndex((message) => message.role === 'system' && compactionOf(message))
  const marker = history[at]
  if (!marker) return history
  const seen = seenAt.get(marker) ?? afterMarker(seenOf(history.slice(0, at)), marker)
  seenAt.set(marker, seen)
  return [...seen, ...history.slice(at + 1)]
}

const afterMarker = (before: readonly ChatMessage[], marker: ChatMessage): ChatMessage[] => {
  const { kind, kept } = compactionOf(marker) ?? { kind: 'cleared', kept: before.length }
  const cut = Math.max(0, before.length - kept)
  const older = before.slice(0, cut)
  const rest = unchained(before.slice(cut))
  return kind === 'cleared'
    ? [...older.map(withoutResults), ...rest]
    : withSummary(summaryText(textOf(marker)), rest)
}

/**
 * Marks the last message, so that requests after a marker do not continue from a response before it: a provider that
 * keeps the conversation would bring back the compacted part.
 */
const unchained = (messages: readonly ChatMessage[]): ChatMessage[] =>
  messages.map((message, index) =>
    index === messages.length - 1
      ? { ...message, metadata: { ...message.metadata, compaction: true } }
      : message,
  )

/** Checks whether a message, as the model sees it, is the last one before a marker. */
export const endsCompacted = ({ metadata }: ChatMessage): boolean => metadata?.compaction === true

const summaryText = (summary: string): string =>
  `The conversation before this point no longer fits, and was replaced by this summary of it:\n\n${summary}`

/** A summary is sent as a user message. If a user message follows it, both become one message. */
const withSummary = (summary: string, rest: readonly ChatMessage[]): ChatMessage[] => {
  const [first, ...others] = rest
  const parts: Part[] = [textPart(summary)]
  if (first?.role === 'user') return [{ ...first, parts: [...parts, ...first.parts] }, ...others]
  const whole: ChatMessage = { role: 'user', parts }
  summaries.add(whole)
  return [whole, ...rest]
}

const summaries = new WeakSet<ChatMessage>()

/** Checks whether a message, as the model sees it, is nothing but a summary. */
export const isSummary = (message: ChatMessage): boolean => summaries.has(message)

/** A message without its long tool results: a note in place of each says how long it was. */
export const withoutResults = (message: ChatMessage): ChatMessage =>
  message.parts.some(isLong) ? { ...message, parts: message.parts.map(cleared) } : message

/** A result that is no longer than the note in its place stays. */
const longEnough = 200

const isLong = (part: Part): boolean =>
  part.type === 'toolResult' && (part.result.length > longEnough || part.parts !== undefined)

const cleared = (part: Part): Part => {
  if (part.type !== 'toolResult' || !isLong(part)) return part
  const { parts: _, ...rest } = part
  return {
    ...rest,
    result: `[This result of ${part.result.length} characters was cleared to save room. Call the tool again if you need it.]`,
  }
}
