import type { JsonObject } from '../../src/messages/json.ts'
import type { Usage } from '../../src/messages/result.ts'
import { usageFrom } from '../wire/usageCounts.ts'
import { numberAt, objectAt } from '../wire/wireJson.ts'

/** Collects the `usage` objects of one answer: a later count of a field replaces the earlier one. */
export class AnthropicUsage {
  readonly #fields = new Map<string, JsonObject[string]>()

  /** The counts so far; undefined if these bring none. */
  read(usage: JsonObject | undefined): Usage | undefined {
    if (!usage) return undefined
    for (const [field, count] of Object.entries(usage)) if (count !== null) this.#fields.set(field, count)
    return usageOf(Object.fromEntries(this.#fields))
  }
}

/** On the wire, input is only what was neither read from the cache nor written to it. */
const usageOf = (usage: JsonObject): Usage | undefined => {
  const fresh = numberAt(usage, 'input_tokens')
  const cached = numberAt(usage, 'cache_read_input_tokens')
  const written = numberAt(usage, 'cache_creation_input_tokens')
  return usageFrom({
    input: fresh === undefined ? undefined : fresh + (cached ?? 0) + (written ?? 0),
    output: numberAt(usage, 'output_tokens'),
    cached,
    written,
    reasoning: numberAt(objectAt(usage, 'output_tokens_details'), 'thinking_tokens'),
  })
}
