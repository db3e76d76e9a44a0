import type { JsonObject } from '../../src/messages/json.ts'
import type { Usage } from '../../src/messages/result.ts'
import { numberAt, objectAt } from '../wireJson.ts'

/** The token counts of a usage object, under any of the names compatible servers give them. */
export const chatUsage = (usage: JsonObject | undefined): Usage | undefined => {
  if (!usage) return undefined
  const prompt = objectAt(usage, 'prompt_tokens_details') ?? objectAt(usage, 'input_tokens_details')
  const completion = objectAt(usage, 'completion_tokens_details') ?? objectAt(usage, 'output_tokens_details')
  const inputTokens = numberAt(usage, 'prompt_tokens') ?? numberAt(usage, 'input_tokens')
  const outputTokens = numberAt(usage, 'completion_tokens') ?? numberAt(usage, 'output_tokens')
  const totalTokens = numberAt(usage, 'total_tokens')
  const cachedInputTokens =
    numberAt(prompt, 'cached_tokens') ??
    numberAt(usage, 'prompt_cache_hit_tokens') ??
    numberAt(usage, 'cached_tokens') ??
    numberAt(usage, 'num_cached_tokens')
  const reasoningTokens = numberAt(completion, 'reasoning_tokens') ?? numberAt(usage, 'reasoning_tokens')
  const known: Usage = {
    ...(inputTokens !== undefined && { inputTokens }),
    ...(outputTokens !== undefined && { outputTokens }),
    ...(totalTokens !== undefined && { totalTokens }),
    ...(cachedInputTokens !== undefined && { cachedInputTokens }),
    ...(reasoningTokens !== undefined && { reasoningTokens }),
  }
  return Object.keys(known).length > 0 ? known : undefined
}
