import type { JsonObject } from '../../src/messages/json.ts'
import type { Usage } from '../../src/messages/result.ts'
import { usageFrom } from '../wire/usageCounts.ts'
import { numberAt, objectAt } from '../wire/wireJson.ts'

/** The token counts of a usage object, under any of the names compatible servers give them. */
export const chatUsage = (usage: JsonObject | undefined): Usage | undefined => {
  if (!usage) return undefined
  const prompt = objectAt(usage, 'prompt_tokens_details') ?? objectAt(usage, 'input_tokens_details')
  const completion = objectAt(usage, 'completion_tokens_details') ?? objectAt(usage, 'output_tokens_details')
  return usageFrom({
    input: numberAt(usage, 'prompt_tokens') ?? numberAt(usage, 'input_tokens'),
    output: numberAt(usage, 'completion_tokens') ?? numberAt(usage, 'output_tokens'),
    total: numberAt(usage, 'total_tokens'),
    cached:
      numberAt(prompt, 'cached_tokens') ??
      numberAt(usage, 'prompt_cache_hit_tokens') ??
      numberAt(usage, 'cached_tokens') ??
      numberAt(usage, 'num_cached_tokens'),
    written: numberAt(prompt, 'cache_write_tokens') ?? numberAt(usage, 'cache_creation_input_tokens'),
    reasoning: numberAt(completion, 'reasoning_tokens') ?? numberAt(usage, 'reasoning_tokens'),
    // OpenRouter's figure, in dollars.
    cost: numberAt(usage, 'cost'),
  })
}
