import type { Compaction } from '../messages/compaction.ts'
import type { Usage } from '../messages/result.ts'

/** US dollars, with as many digits as a cheap request needs: `$0.0042`, `$12.50`. */
export const costText = (cost: number): string =>
  cost.toLocaleString('en-US', {
    style: 'currency',
    currency: 'USD',
    maximumFractionDigits: cost < 1 ? 6 : 2,
  })

/** What was used, and what it cost where that is known: `120 tokens in, 15 out, $0.0042`. */
export const usageText = ({ inputTokens, outputTokens, cost }: Usage = {}): string => {
  const tokens = `${inputTokens ?? '?'} tokens in, ${outputTokens ?? '?'} out`
  return cost === undefined ? tokens : `${tokens}, ${costText(cost)}`
}

/** A compaction in one line: `Compacted, 6,360 to 1,310 tokens: older messages were summarised.` */
export const compactionLine = ({ kind, tokensBefore, tokensAfter }: Compaction): string => {
  const [before, after] = [tokensBefore, tokensAfter].map((tokens) => Number(tokens).toLocaleString('en-US'))
  const what = kind === 'cleared' ? 'old tool results were cleared' : 'older messages were summarised'
  return `Compacted, ${before} to ${after} tokens: ${what}.`
}
