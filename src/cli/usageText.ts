import type { Compaction } from '../messages/compaction.ts'
import { dollars } from '../messages/dollars.ts'
import type { Usage } from '../messages/result.ts'

/** What was used, and what it cost where that is known: `120 tokens in, 15 out, $0.0042`. */
export const usageText = ({ inputTokens, outputTokens, cost }: Usage = {}): string => {
  const tokens = `${inputTokens ?? '?'} tokens in, ${outputTokens ?? '?'} out`
  return cost === undefined ? tokens : `${tokens}, ${dollars(cost)}`
}

/** A compaction in one line: `Compacted, 6,360 to 1,310 tokens: older messages were summarised.` */
export const compactionLine = ({ kind, tokensBefore, tokensAfter }: Compaction): string => {
  const [before, after] = [tokensBefore, tokensAfter].map((tokens) => Number(tokens).toLocaleString('en-US'))
  const what = kind === 'cleared' ? 'old tool results were cleared' : 'older messages were summarised'
  return `Compacted, ${before} to ${after} tokens: ${what}.`
}
