import { ModelError } from '../../src/messages/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import type { Usage } from '../../src/messages/result.ts'
import { numberAt } from '../wire/wireJson.ts'
import { base64Vector } from './base64Vector.ts'
import type { EmbeddingsTarget } from './protocol.ts'

/** The answer's object; anything else is not an answer. */
export const answerOf = (body: unknown, provider: string): JsonObject => {
  if (isJsonObject(body)) return body
  throw badAnswer(provider, 'is not a JSON object')
}

/** One vector per text: lists of numbers, or their base64. */
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

/** Some servers answer out of order and give the position in `index`; some put the same index everywhere. */
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
