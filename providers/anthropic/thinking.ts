import type { JsonObject } from '../../src/messages/json.ts'
import type { ModelRequest, Thinking } from '../../src/model/chatModel.ts'
import type { AnthropicProfile } from './profile.ts'

export type ThinkingSettings = { maxTokens: number; thinking?: JsonObject; effort?: string }

type Effort = NonNullable<Exclude<Thinking, boolean>['effort']>

const minimumBudget = 1024
const budgets: Record<Effort, number> = { minimal: 1024, low: 4096, medium: 8192, high: 24_576 }

/** How much the model thinks and writes. The two belong together: thinking is paid out of `max_tokens`. */
export const thinkingSettings = (
  request: ModelRequest,
  profile: AnthropicProfile,
  situation: { forcedTool: boolean; resumesWithoutThinking: boolean },
): ThinkingSettings => {
  const maxTokens = request.maxOutputTokens ?? profile.defaultMaxTokens
  const wanted = profile.thinking ? request.thinking : undefined
  const wish = typeof wanted === 'object' ? wanted : {}
  const effort =
    profile.effort && wish.effort ? { effort: wish.effort === 'minimal' ? 'low' : wish.effort } : {}
  // A forced tool and thinking exclude each other, and the tool is the harder wish.
  if (wanted === false || (profile.thinking && situation.forcedTool)) {
    const type = profile.thinkingOff
    return { maxTokens, ...effort, ...(type !== 'omit' && type !== 'never' && { thinking: { type } }) }
  }
  if (wanted === undefined) return { maxTokens }
  // New models leave the text of their thinking out unless asked for it.
  if (profile.thinkingStyle === 'adaptive') {
    return { maxTokens, ...effort, thinking: { type: 'adaptive', display: 'summarized' } }
  }
  if (situation.resumesWithoutThinking) return { maxTokens, ...effort }
  const budget = wish.budgetTokens ?? budgets[wish.effort ?? 'medium']
  if (request.maxOutputTokens === undefined) return { ...withinLimit(maxTokens, budget), ...effort }
  return { ...besideAnswer(maxTokens, budget, wish.budgetTokens !== undefined), ...effort }
}

/** `max_tokens` is the model's limit: the budget leaves some of it to the answer. */
const withinLimit = (limit: number, budget: number): ThinkingSettings =>
  enabled(limit, Math.min(budget, limit - minimumBudget))

/** The caller set the length of the answer: a budget of its own comes on top where it does not fit in. */
const besideAnswer = (length: number, wish: number, isExplicit: boolean): ThinkingSettings => {
  const budget = Math.max(minimumBudget, isExplicit ? wish : Math.min(wish, Math.floor(length / 2)))
  return enabled(budget < length ? length : budget + length, budget)
}

const enabled = (maxTokens: number, budget: number): ThinkingSettings => ({
  maxTokens,
  thinking: { type: 'enabled', budget_tokens: Math.max(minimumBudget, budget) },
})

/** True for a configuration under which the model thinks before it answers. */
export const thinks = ({ thinking }: ThinkingSettings): boolean =>
  thinking?.type === 'enabled' || thinking?.type === 'adaptive'
