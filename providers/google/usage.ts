import type { JsonObject } from '../../src/messages/json.ts'
import type { Usage } from '../../src/messages/result.ts'
import { usageFrom } from '../wire/usageCounts.ts'

const fields = [
  'promptTokenCount',
  'toolUsePromptTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
  'cachedContentTokenCount',
  'totalTokenCount',
] as const

type Field = (typeof fields)[number]

const parts: readonly Field[] = ['toolUsePromptTokenCount', 'candidatesTokenCount', 'thoughtsTokenCount']

/** Collects the counts that Gemini repeats in every chunk. They are made a usage once for a whole read. */
export class GoogleUsage {
  readonly #counts = new Map<Field, number>()
  #isNew = false

  /** A total comes with its parts; a count that a chunk leaves out keeps its last value. */
  read(wire: JsonObject): void {
    if (typeof wire.totalTokenCount === 'number') for (const field of parts) this.#counts.delete(field)
    for (const field of fields) {
      const count = wire[field]
      if (typeof count !== 'number') continue
      this.#counts.set(field, count)
      this.#isNew = true
    }
  }

  /** The counts since they were last asked for. */
  take(): Usage | undefined {
    if (!this.#isNew) return undefined
    this.#isNew = false
    const input = this.#sum('promptTokenCount', 'toolUsePromptTokenCount')
    const total = this.#counts.get('totalTokenCount')
    return usageFrom({
      input,
      // A count of 0 is left out.
      output:
        this.#sum('candidatesTokenCount', 'thoughtsTokenCount') ??
        (input === undefined || total === undefined ? undefined : Math.max(0, total - input)),
      total,
      cached: this.#counts.get('cachedContentTokenCount'),
      reasoning: this.#counts.get('thoughtsTokenCount'),
    })
  }

  /** What Gemini fetched for its own tools is input beside the prompt, what it thought is output beside the answer. */
  #sum(field: Field, beside: Field): number | undefined {
    const count = this.#counts.get(field)
    const more = this.#counts.get(beside)
    return count === undefined && more === undefined ? undefined : (count ?? 0) + (more ?? 0)
  }
}
