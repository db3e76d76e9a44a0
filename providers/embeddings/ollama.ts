import { arrayAt, numberAt } from '../wire/wireJson.ts'
import type { EmbeddingsProtocol } from './protocol.ts'
import { answerOf, usageOf, vectorsOf } from './vectors.ts'

/** The server itself sets no limit: the size keeps one answer small enough to hold. */
export const ollamaEmbeddings: EmbeddingsProtocol = {
  name: 'ollama',
  batchSize: 512,
  request: (texts, { model, dimensions, providerOptions }) => ({
    path: '/embed',
    body: { model, input: texts, ...(dimensions !== undefined && { dimensions }), ...providerOptions },
  }),
  read(body, count) {
    const answer = answerOf(body, 'ollama')
    // Proxies in front of older servers hand the answer of `/api/embeddings` on: one vector, not in a list.
    const single = arrayAt(answer, 'embedding')
    return {
      vectors: vectorsOf(arrayAt(answer, 'embeddings') ?? (single && [single]), count, 'ollama'),
      ...usageOf(numberAt(answer, 'prompt_eval_count'), undefined),
    }
  },
}
