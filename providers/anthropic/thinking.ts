import type { JsonObject } from '../../src/messages/json.ts'
import type { ModelRequest, Thinking } from '../../src/model/chatModel.ts'
import { budgetFor, type EffortWord, effortFor, someThinking } from '../models/modelFacts.ts'
import type { AnthropicProfile } from './profile.ts'

export type ThinkingSettings = { maxTokens: number; thinking?: JsonObject; effort?: string }

/**
 * Lets the API drop a thinking block that is bound to another conversation, instead of refusing the request. The blocks that
 * are known to be bound to another one are not sent; this is for those that an older version stored.
 */
const dropped = { block_binding: { prefix_mismatch_behavior: 'drop_block' } }

type Budget = NonNullable<AnthropicProfile['budget']>

/** The amounts of thinking and writing. The two belong together: thinking is paid out of `max_tokens`. */
export const thinkingSettings = (
  request: ModelRequest,
  profile: AnthropicProfile,
  situation: { forcedTool: boolean; resumesWithoutThinking: boolean },
): ThinkingSettings => {
  const maxTokens = request.maxOutputTokens ?? profile.usualOutput ?? profile.maxOutput
  const wanted = profile.thinking ? request.thinking : undefined
  // A forced tool and thinking exclude each other, and the tool is the harder wish.
  if (wanted === false || (profile.thinking && situation.forcedTool)) {
    return { maxTokens, ...withoutThinking(wanted, profile) }
  }
  if (wanted === undefined) return { maxTokens }
  const { budget, efforts = [] } = profile
  const effort = effortOf(wanted, efforts)
  // New models leave the text of their thinking out unless asked for it.
  if (!budget) {
    const thinking = { type: 'adaptive', display: 'summarized', ...(profile.bindsThinking && dropped) }
    return { maxTokens, ...effort, thinking }
  }
  if (situation.resumesWithoutThinking) return { maxTokens, ...effort }
  const tokens = budgetFor(someThinking(wanted)) ?? budget.min
  if (request.maxOutputTokens === undefined) return { ...withinLimit(maxTokens, tokens, budget), ...effort }
  const isExplicit = typeof wanted === 'object' && wanted.budgetTokens !== undefined
  return { ...besideAnswer(maxTokens, tokens, isExplicit, budget), ...effort }
}

const withoutThinking = (
  wanted: Thinking | undefined,
  { thinkingOff, efforts = [] }: AnthropicProfile,
): Partial<ThinkingSettings> => {
  const isOff = thinkingOff !== 'omit' && thinkingOff !== 'never'
  // Without thinking, efforts above `high` are refused.
  const effort = wanted && effortOf(wanted, isOff ? efforts.filter((word) => !above.has(word)) : efforts)
  // Who cannot stop can only do little.
  if (wanted === false && thinkingOff === 'never') return effortOf(false, efforts)
  return { ...effort, ...(isOff && { thinking: { type: thinkingOff } }) }
}

const above = new Set<EffortWord>(['xhigh', 'max'])

const effortOf = (wanted: Thinking, efforts: readonly EffortWord[]): { effort?: string } => {
  const effort = effortFor(wanted, efforts)
  return effort === undefined ? {} : { effort }
}

/** `max_tokens` is the model's limit: the budget leaves some of it to the answer. */
const withinLimit = (limit: number, tokens: number, budget: Budget): ThinkingSettings =>
  enabled(limit, Math.min(tokens, limit - budget.min), budget)

/** The caller set the length of the answer: the thinking budget is added on top if it does not fit in. */
const besideAnswer = (
  length: number,
  wish: number,
  isExplicit: boolean,
  budget: Budget,
): ThinkingSettings => {
  const tokens = Math.max(budget.min, isExplicit ? wish : Math.min(wish, Math.floor(length / 2)))
  return enabled(tokens < length ? length : tokens + length, tokens, budget)
}

const enabled = (maxTokens: number, tokens: number, { min }: Budget): ThinkingSettings => ({
  maxTokens,
  thinking: { type: 'enabled', budget_tokens: Math.max(min, tokens) },
})

/** True for a configuration under which the model thinks before it answers. */
export const thinks = ({ thinking }: ThinkingSettings): boolean =>
  thinking?.type === 'enabled' || thinking?.type === 'adaptive'
