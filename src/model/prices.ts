import type { Usage } from '../messages/result.ts'

/** The prices of a model, in US dollars for a million tokens. */
export type ModelPrices = {
  input: number
  output: number
  /** Input that was read from a cache; absent where it is not known. */
  cached?: number
  /** Input that was written to a cache; absent where it is not known. */
  written?: number
  /** Other prices for all tokens of a request with more input than this. */
  above?: ModelPrices & { tokens: number }
}

/** The cost of a request in US dollars; undefined where a count or a price is not known. */
export const costOf = (usage: Usage, prices: ModelPrices): number | undefined => {
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0 } = usage
  if (inputTokens === undefined || outputTokens === undefined) return undefined
  const { above } = prices
  const { input, output, cached, written } = above && inputTokens > above.tokens ? above : prices
  const plain = Math.max(inputTokens - cachedInputTokens - cacheWriteTokens, 0)
  const costs = [
    plain * input,
    outputTokens * output,
    share(cachedInputTokens, cached),
    share(cacheWriteTokens, written),
  ]
  const sum = costs.reduce((total, cost) => total + cost, 0) / 1e6
  return Number.isFinite(sum) ? sum : undefined
}

/** The cost of some tokens: nothing where there are none, even if their price is not known. */
const share = (tokens: number, price = Number.NaN): number => (tokens === 0 ? 0 : tokens * price)
