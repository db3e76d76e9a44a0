import { compactionOf } from '../messages/compaction.ts'
import { type ChatMessage, textOf } from '../messages/messages.ts'
import { hideSecrets } from './hideSecrets.ts'
import type { CompactionRow } from './wire.ts'

/** It goes with every change of its answer. */
const longestSummary = 8_000

/** What a marker says, if the message is one. */
export const compactionRow = (
  message: ChatMessage | undefined,
  secrets: readonly string[],
): CompactionRow | null => {
  const compaction = message && compactionOf(message)
  if (!compaction) return null
  const { kind, tokensBefore, tokensAfter, reason } = compaction
  const summary = hideSecrets(textOf(message), secrets)
  const isCut = summary.length > longestSummary
  return {
    kind,
    // A history may come from anywhere.
    tokensBefore: Number(tokensBefore),
    tokensAfter: Number(tokensAfter),
    reason,
    summary: isCut ? `${summary.slice(0, longestSummary)} …` : summary,
  }
}
