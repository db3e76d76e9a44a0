import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../../src/messages/json.ts'
import { arrayAt, objectAt } from '../wire/wireJson.ts'

/** Collects what an answer rests on. Gemini repeats much of it in every chunk; here each item is reported once. */
export class Sources {
  readonly #told = new Set<string>()
  #grounding: JsonObject = {}
  #safetyRatings: JsonValue[] = []

  /** What this candidate adds to citations and read URLs. */
  read(candidate: JsonObject): JsonObject | undefined {
    const grounding = objectAt(candidate, 'groundingMetadata')
    if (grounding) this.#grounding = { ...this.#grounding, ...grounding }
    this.#safetyRatings = arrayAt(candidate, 'safetyRatings') ?? this.#safetyRatings
    const citation = objectAt(candidate, 'citationMetadata')
    const pages = objectAt(candidate, 'urlContextMetadata')
    if (!citation && !pages) return undefined
    // Vertex says `citations`, the Gemini API `citationSources`.
    const citations = this.#untold(arrayAt(citation, 'citations') ?? arrayAt(citation, 'citationSources'))
    const urlContext = this.#untold(arrayAt(pages, 'urlMetadata'))
    if (citations.length + urlContext.length === 0) return undefined
    return { ...(citations.length > 0 && { citations }), ...(urlContext.length > 0 && { urlContext }) }
  }

  /** What is only final at the end: grounding, and safety ratings when they explain a block. */
  rest(blocked: boolean): JsonObject | undefined {
    const hasGrounding = Object.keys(this.#grounding).length > 0
    const ratings = blocked || this.#safetyRatings.some(isBlocking) ? this.#safetyRatings : []
    if (!hasGrounding && ratings.length === 0) return undefined
    return {
      ...(hasGrounding && { grounding: [this.#grounding] }),
      ...(ratings.length > 0 && { safetyRatings: ratings }),
    }
  }

  #untold(items: JsonValue[] | undefined): JsonValue[] {
    return (items ?? []).filter((item) => {
      const key = JSON.stringify(item)
      return !this.#told.has(key) && this.#told.add(key)
    })
  }
}

const isBlocking = (rating: JsonValue): boolean =>
  isJsonObject(rating) && ownValue(rating, 'blocked') === true
