import { addUsage, type Usage } from '../../src/messages/result.ts'
import type { ResolvedConfig } from '../agent/agentConfig.ts'
import type { Answer, StreamingState, Totals } from '../agent/streamingState.ts'

/** What the current answer used, with what it cost: the provider's own figure, or else the user's price. */
export const priced = (config: ResolvedConfig, { answer, request }: StreamingState): Usage | null =>
  withCost(config, request.prepared ?? config.models[request.modelIndex], answer.accumulated.usage)

/** The same of a summary. */
export const usageOfSummary = (
  config: ResolvedConfig,
  { request }: StreamingState,
  usage: Usage | null,
): Usage | null => {
  const { model } = { ...config.compaction }
  return withCost(config, model ?? config.models[request.modelIndex], usage)
}

const withCost = (
  { price }: ResolvedConfig,
  asked: { provider: string; model: string } | undefined,
  usage: Usage | null,
): Usage | null => {
  if (!usage || usage.cost !== undefined || !price || !asked) return usage
  const { provider, model } = asked
  try {
    const cost = price({ provider, model }, { ...usage })
    return Number.isFinite(cost) ? { ...usage, cost: cost as number } : usage
  } catch {
    return usage
  }
}

export const withUsage = (totals: Totals, usage: Usage | null): Totals =>
  usage ? { ...totals, usage: addUsage(totals.usage ?? undefined, usage) ?? null } : totals

export const withUsageOf = (answer: Answer, usage: Usage | null): Answer => ({
  ...answer,
  accumulated: { ...answer.accumulated, usage },
})
