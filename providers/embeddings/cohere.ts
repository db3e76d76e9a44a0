import type { JsonObject, JsonValue } from '../../src/messages/json.ts'
import { arrayAt, numberAt, objectAt } from '../wire/wireJson.ts'
import type { EmbeddingsProtocol } from './protocol.ts'
import { answerOf, usageOf, vectorsOf } from './vectors.ts'

/** `POST /embed` of Cohere. */
export const cohereEmbeddings: EmbeddingsProtocol = {
  name: 'cohere',
  batchSize: 96,
  request: (texts, { model, dimensions, purpose, providerOptions }) => ({
    path: '/embed',
    body: {
      model,
      texts,
      input_type: purpose === 'query' ? 'search_query' : 'search_document',
      embedding_types: ['float'],
      ...(dimensions !== undefined && { output_dimension: dimensions }),
      ...providerOptions,
    },
  }),
  read(body, count) {
    const answer = answerOf(body, 'cohere')
    // By type from v2, a plain list where no type was asked for.
    const byType = objectAt(answer, 'embeddings')
    const values = byType ? firstList(byType) : arrayAt(answer, 'embeddings')
    const billed = objectAt(objectAt(answer, 'meta'), 'billed_units')
    return {
      vectors: vectorsOf(values, count, 'cohere'),
      ...usageOf(numberAt(billed, 'input_tokens'), undefined),
    }
  },
}

/** The floats that were asked for, or what the user asked for instead. */
const firstList = (byType: JsonObject): JsonValue[] | undefined =>
  arrayAt(byType, 'float') ?? Object.values(byType).find((values) => Array.isArray(values))
