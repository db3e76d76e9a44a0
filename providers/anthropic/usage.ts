import type { JsonObject } from '../../src/messages/json.ts'
import type { Usage } from '../../src/messages/result.ts'
import { numberAt, objectAt } from '../wireJson.ts'

/** The counts of a `usage` object. Input is what was neither read from the cache nor written to it. */
export const usageOf = (usage: JsonObject | undefined): Usage | undefined => {
  const input = numberAt(usage, 'input_tokens')
  const output = numberAt(usage, 'output_tokens')
  const cached = numberAt(usage, 'cache_read_input_tokens')
  const thinking = numberAt(objectAt(usage, 'output_tokens_details'), 'thinking_tokens')
  const counts: Usage = {
    ...(input !== undefined && { inputTokens: input }),
    ...(output !== undefined && { outputTokens: output }),
    ...(cached !== undefined && { cachedInputTokens: cached }),
    ...(thinking !== undefined && { reasoningTokens: thinking }),
  }
  return Object.keys(counts).length > 0 ? counts : undefined
}
