import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../../src/messages/json.ts'
import { isTooDeep, tooDeep } from '../../src/messages/jsonDepth.ts'
import type { Usage } from '../../src/messages/result.ts'
import type { Delta } from '../../src/model/delta.ts'
import { usageFrom } from '../wire/decoder.ts'
import { arrayAt, BadWireJson, numberAt, objectAt, parseWireObject, stringAt } from '../wire/json.ts'

/** The responses in an event: one, none, or the list that the wire sends when it does not stream events. */
export const chunksIn = (data: string): JsonObject[] | BadWireJson => {
  const text = data.startsWith('{') ? '' : data.trim()
  if (!text.startsWith('[')) {
    const chunk = parseWireObject(data)
    if (chunk instanceof BadWireJson) return chunk
    return chunk ? [chunk] : []
  }
  // Gateways built for other wires end with this word.
  if (text === '[DONE]') return []
  if (isTooDeep(text)) return new BadWireJson(data, tooDeep)
  try {
    const list: JsonValue[] = JSON.parse(text)
    return list.filter(isJsonObject)
  } catch {
    return new BadWireJson(data)
  }
}

export const firstCandidate = (chunk: JsonObject): JsonObject | undefined => {
  for (const candidate of arrayAt(chunk, 'candidates') ?? []) {
    if (isJsonObject(candidate) && (numberAt(candidate, 'index') ?? 0) === 0) return candidate
  }
  return undefined
}

export const blockOf = (feedback: JsonObject | undefined): JsonObject | undefined => {
  const blockReason = stringAt(feedback, 'blockReason')
  if (!blockReason || blockReason === 'BLOCKED_REASON_UNSPECIFIED') return undefined
  const blockReasonMessage = stringAt(feedback, 'blockReasonMessage')
  const safetyRatings = arrayAt(feedback, 'safetyRatings')
  return {
    blockReason,
    ...(blockReasonMessage && { blockReasonMessage }),
    ...(safetyRatings && { safetyRatings }),
  }
}

const serverTools = ['executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'] as const

export const serverToolOf = (part: JsonObject): JsonObject | undefined => {
  for (const key of serverTools) {
    const content = objectAt(part, key)
    if (content) return { [key]: content }
  }
  return undefined
}

export const mediaOf = (part: JsonObject): Delta | undefined => {
  const inline = objectAt(part, 'inlineData')
  const data = stringAt(inline, 'data')
  if (data) {
    const mimeType = stringAt(inline, 'mimeType') ?? 'application/octet-stream'
    return { type: 'part', part: { type: 'data', mimeType, data } }
  }
  const file = objectAt(part, 'fileData')
  const url = stringAt(file, 'fileUri')
  const mimeType = stringAt(file, 'mimeType')
  return url ? { type: 'part', part: { type: 'link', url, ...(mimeType && { mimeType }) } } : undefined
}

/** The words of a spoken part; the text of the answer is what was not spoken. */
export const spokenIn = (part: JsonObject): string =>
  stringAt(objectAt(part, 'audioTranscription'), 'text') ?? ''

/** Collects what an answer rests on. Gemini repeats much of it in every chunk; here each item is reported once. */
export class Sources {
  readonly #reported = new Set<string>()
  #grounding: JsonObject = {}
  #safetyRatings: JsonValue[] = []

  /** Gives the citations and read URLs that this candidate adds. */
  read(candidate: JsonObject): JsonObject | undefined {
    const grounding = objectAt(candidate, 'groundingMetadata')
    if (grounding) this.#grounding = { ...this.#grounding, ...grounding }
    this.#safetyRatings = arrayAt(candidate, 'safetyRatings') ?? this.#safetyRatings
    const citation = objectAt(candidate, 'citationMetadata')
    const pages = objectAt(candidate, 'urlContextMetadata')
    if (!citation && !pages) return undefined
    // Vertex says `citations`, the Gemini API `citationSources`.
    const citations = this.#unreported(arrayAt(citation, 'citations') ?? arrayAt(citation, 'citationSources'))
    const urlContext = this.#unreported(arrayAt(pages, 'urlMetadata'))
    if (citations.length + urlContext.length === 0) return undefined
    return { ...(citations.length > 0 && { citations }), ...(urlContext.length > 0 && { urlContext }) }
  }

  /** Gives what is only final at the end: grounding, and safety ratings when they explain a block. */
  rest(blocked: boolean): JsonObject | undefined {
    const hasGrounding = Object.keys(this.#grounding).length > 0
    const ratings = blocked || this.#safetyRatings.some(isBlocking) ? this.#safetyRatings : []
    if (!hasGrounding && ratings.length === 0) return undefined
    return {
      ...(hasGrounding && { grounding: [this.#grounding] }),
      ...(ratings.length > 0 && { safetyRatings: ratings }),
    }
  }

  #unreported(items: JsonValue[] | undefined): JsonValue[] {
    return (items ?? []).filter((item) => {
      const key = JSON.stringify(item)
      return !this.#reported.has(key) && this.#reported.add(key)
    })
  }
}

const isBlocking = (rating: JsonValue): boolean =>
  isJsonObject(rating) && ownValue(rating, 'blocked') === true

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

/** Collects the counts that Gemini repeats in every chunk. They become a usage once for a whole read. */
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

  /** Adds two counts: pages fetched for Gemini's own tools to the prompt, thoughts to the answer. */
  #sum(field: Field, beside: Field): number | undefined {
    const count = this.#counts.get(field)
    const more = this.#counts.get(beside)
    return count === undefined && more === undefined ? undefined : (count ?? 0) + (more ?? 0)
  }
}
