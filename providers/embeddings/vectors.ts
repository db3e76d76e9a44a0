import { fromBase64 } from '../../src/messages/base64.ts'
import { ModelError } from '../../src/messages/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import type { Usage } from '../../src/messages/result.ts'
import { numberAt } from '../wire/json.ts'
import type { WireRequest } from '../wire/protocol.ts'

/** The model that makes the vectors, their size, and their purpose: some models distinguish a question from what it searches. */
export type EmbeddingsTarget = {
  provider: string
  model: string
  dimensions?: number
  purpose: 'query' | 'document'
  /** Merged into the request last, untouched. */
  providerOptions?: JsonObject
}

/** The wire format of a provider's embeddings. Pure, like the chat protocols. */
export type EmbeddingsProtocol = {
  readonly name: string
  /** The most texts the provider takes in one request. */
  readonly batchSize: number
  /** The most tokens the provider takes in one request, where it has such a limit. */
  readonly batchTokens?: number
  request(texts: string[], target: EmbeddingsTarget): WireRequest
  /** Reads the parsed answer to a request of `count` texts; throws a `ModelError` if it is not one vector for each. */
  read(body: unknown, count: number, target?: EmbeddingsTarget): { vectors: number[][]; usage?: Usage }
}

/** The answer's object; anything else is not an answer. */
export const answerOf = (body: unknown, provider: string): JsonObject => {
  if (isJsonObject(body)) return body
  throw badAnswer(provider, 'is not a JSON object')
}

/** A vector for each text, from lists of numbers or their base64. */
export const vectorsOf = (
  values: readonly (JsonValue | undefined)[] | undefined,
  count: number,
  provider: string,
  target?: EmbeddingsTarget,
): number[][] => {
  if (!values) throw badAnswer(provider, 'holds no embeddings')
  if (values.length !== count)
    throw badAnswer(provider, `holds ${values.length} embeddings for ${count} texts`)
  return values.map((value, place) => {
    const vector = typeof value === 'string' ? base64Vector(value, target) : value
    if (isVector(vector)) return vector
    throw badAnswer(provider, `holds no vector for text ${place}`)
  })
}

/** Sorts by `index`, for servers that answer out of order; some put the same index everywhere. */
export const inOrder = (items: readonly JsonValue[], provider: string): JsonObject[] => {
  const objects = items.filter((item) => isJsonObject(item))
  const places = objects.map((item) => numberAt(item, 'index'))
  if (places.every((place) => place === places[0])) return objects
  const ordered = new Map(objects.map((item, nth) => [places[nth], item]))
  return objects.map((_, place) => {
    const item = ordered.get(place)
    if (!item) throw badAnswer(provider, `holds no embedding with index ${place}`)
    return item
  })
}

export const usageOf = (
  inputTokens: number | undefined,
  totalTokens: number | undefined,
): { usage?: Usage } => {
  if (inputTokens === undefined && totalTokens === undefined) return {}
  return {
    usage: {
      ...(inputTokens !== undefined && { inputTokens }),
      ...(totalTokens !== undefined && { totalTokens }),
    },
  }
}

const isVector = (value: JsonValue | undefined): value is number[] =>
  Array.isArray(value) && value.length > 0 && value.every((item) => Number.isFinite(item))

const badAnswer = (provider: string, problem: string): ModelError =>
  new ModelError(`The embeddings answer of ${provider} ${problem}.`, {
    provider,
    code: 'invalid_embeddings',
  })

/**
 * A vector in base64: 32-bit floats as OpenAI sends them, or bytes. Empty if it is neither. Bytes were asked for
 * (`output_dtype`, `encoding_format`), or are the server's habit (Perplexity), and then only the numbers show it.
 */
const base64Vector = (base64: string, target: EmbeddingsTarget | undefined): number[] => {
  const bytes = fromBase64(base64)
  const { providerOptions = {}, dimensions } = target ?? {}
  const wish = `${providerOptions.output_dtype ?? ''} ${providerOptions.encoding_format ?? ''}`
  if (/uint8|ubinary/.test(wish)) return [...bytes]
  if (/int8|binary/.test(wish) || bytes.length === dimensions) return signed(bytes)
  if (bytes.length % 4 !== 0) return []
  const floats = floatsIn(bytes)
  return floats.every(isPlausible) ? floats : signed(bytes)
}

const signed = (bytes: Uint8Array): number[] => [
  ...new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length),
]

const floatsIn = (bytes: Uint8Array): number[] => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  return Array.from({ length: bytes.length / 4 }, (_, nth) => view.getFloat32(nth * 4, true))
}

/** True for a number that a vector may hold: four small bytes read as a float are next to nothing, or have thirty digits. */
const isPlausible = (value: number): boolean =>
  value === 0 || (Math.abs(value) > 1e-20 && Math.abs(value) < 1e9)
