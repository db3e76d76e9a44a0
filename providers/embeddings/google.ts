import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../../src/messages/json.ts'
import { modelPath } from '../http/modelPath.ts'
import { arrayAt, numberAt, objectAt } from '../wire/wireJson.ts'
import type { EmbeddingsProtocol, EmbeddingsTarget } from './protocol.ts'
import { answerOf, usageOf, vectorsOf } from './vectors.ts'

/** `batchEmbedContents`; provider options go into each of its requests, since the batch itself has none. */
export const googleEmbeddings: EmbeddingsProtocol = {
  name: 'google',
  batchSize: 100,
  request(texts, target) {
    const model = target.model.replace(/^models\//, '')
    const requests = texts.map(
      (text): JsonObject => ({
        model: `models/${model}`,
        content: { parts: [{ text: withPurpose(text, target) }] },
        ...(!readsPurposeInText(target) && { taskType: taskTypes[target.purpose] }),
        ...(target.dimensions !== undefined && { outputDimensionality: target.dimensions }),
        ...target.providerOptions,
      }),
    )
    return { path: `/models/${modelPath(model)}:batchEmbedContents`, body: { requests } }
  },
  read(body, count) {
    const answer = answerOf(body, 'google')
    const single = objectAt(answer, 'embedding')
    const embeddings = arrayAt(answer, 'embeddings') ?? predictions(answer) ?? (single && [single])
    const usage = objectAt(answer, 'usageMetadata')
    const values = embeddings?.map((item) => (isJsonObject(item) ? ownValue(item, 'values') : undefined))
    return {
      vectors: vectorsOf(values, count, 'google'),
      ...usageOf(numberAt(usage, 'promptTokenCount'), numberAt(usage, 'totalTokenCount')),
    }
  },
}

/** Vertex wraps each embedding of its older models in a prediction. */
const predictions = (answer: JsonObject): JsonValue[] | undefined =>
  arrayAt(answer, 'predictions')
    ?.filter(isJsonObject)
    .map((prediction) => objectAt(prediction, 'embeddings') ?? null)

const taskTypes = { query: 'RETRIEVAL_QUERY', document: 'RETRIEVAL_DOCUMENT' }

/** From the second generation on the models ignore `taskType` and want the purpose written into the text. */
const readsPurposeInText = ({ model }: EmbeddingsTarget): boolean => /gemini-embedding-[2-9]/.test(model)

const withPurpose = (text: string, target: EmbeddingsTarget): string => {
  if (!readsPurposeInText(target)) return text
  return target.purpose === 'query' ? `task: search result | query: ${text}` : `title: none | text: ${text}`
}
