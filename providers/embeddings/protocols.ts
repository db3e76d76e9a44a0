import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../../src/messages/json.ts'
import { modelPath } from '../google/request.ts'
import { arrayAt, numberAt, objectAt } from '../wire/json.ts'
import {
  answerOf,
  type EmbeddingsProtocol,
  type EmbeddingsTarget,
  inOrder,
  usageOf,
  vectorsOf,
} from './vectors.ts'

/** The differences between the servers that took over OpenAI's endpoint. */
type EmbeddingsHabits = {
  name: string
  /** The most texts in one request. */
  batchSize: number
  /** The most tokens in one request. */
  batchTokens?: number
  /** The field for the size of the vectors; Mistral has its own word. */
  dimensionsKey?: 'dimensions' | 'output_dimension'
  /** The `input_type` of a question and of a text: NVIDIA's retrieval models demand it, OpenRouter passes it on. */
  inputTypes?: { query: string; document: string }
}

/** `POST /embeddings` as OpenAI made it and others took it over. */
const openaiLikeEmbeddings = ({
  name,
  batchSize,
  batchTokens,
  dimensionsKey = 'dimensions',
  inputTypes,
}: EmbeddingsHabits): EmbeddingsProtocol => ({
  name,
  batchSize,
  ...(batchTokens !== undefined && { batchTokens }),
  request: (texts, { model, dimensions, purpose, providerOptions }) => ({
    path: '/embeddings',
    body: {
      model,
      input: texts,
      ...(dimensions !== undefined && { [dimensionsKey]: dimensions }),
      ...(inputTypes && { input_type: inputTypes[purpose] }),
      ...providerOptions,
    },
  }),
  read(body, count, target) {
    const answer = answerOf(body, name)
    const data = arrayAt(answer, 'data')
    const usage = objectAt(answer, 'usage')
    const values = data && inOrder(data, name).map((item) => ownValue(item, 'embedding'))
    return {
      vectors: vectorsOf(values, count, name, target),
      ...usageOf(numberAt(usage, 'prompt_tokens'), numberAt(usage, 'total_tokens')),
    }
  },
})

/** OpenAI's own. */
export const openaiEmbeddings = openaiLikeEmbeddings({
  name: 'openai',
  batchSize: 2048,
  batchTokens: 300_000,
})
export const ollamaOpenaiEmbeddings = openaiLikeEmbeddings({ name: 'ollama-openai', batchSize: 512 })
export const togetherEmbeddings = openaiLikeEmbeddings({ name: 'together', batchSize: 128 })
export const fireworksEmbeddings = openaiLikeEmbeddings({ name: 'fireworks', batchSize: 8 })
export const mistralEmbeddings = openaiLikeEmbeddings({
  name: 'mistral',
  batchSize: 256,
  batchTokens: 16_000,
  dimensionsKey: 'output_dimension',
})
export const nvidiaEmbeddings = openaiLikeEmbeddings({
  name: 'nvidia',
  batchSize: 50,
  inputTypes: { query: 'query', document: 'passage' },
})
/** OpenRouter hands the batch on as it is, so the strictest provider behind it sets the size. */
export const openrouterEmbeddings = openaiLikeEmbeddings({
  name: 'openrouter',
  batchSize: 96,
  inputTypes: { query: 'search_query', document: 'search_document' },
})

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

/** `predict` of Vertex, one text in each request: the newest models take no more. */
export const vertexEmbeddings: EmbeddingsProtocol = {
  ...googleEmbeddings,
  name: 'vertex',
  batchSize: 1,
  request(texts, target) {
    const model = target.model.replace(/^(?:publishers\/google\/)?models\//, '')
    const { dimensions, purpose, providerOptions } = target
    return {
      path: `/publishers/google/models/${modelPath(model)}:predict`,
      body: {
        instances: texts.map((text) => ({
          content: withPurpose(text, target),
          ...(!readsPurposeInText(target) && { task_type: taskTypes[purpose] }),
        })),
        ...(dimensions !== undefined && { parameters: { outputDimensionality: dimensions } }),
        ...providerOptions,
      },
    }
  },
}

/** Vertex wraps each embedding of its older models in a prediction. */
const predictions = (answer: JsonObject): JsonValue[] | undefined =>
  arrayAt(answer, 'predictions')
    ?.filter(isJsonObject)
    .map((prediction) => objectAt(prediction, 'embeddings') ?? null)

const taskTypes = { query: 'RETRIEVAL_QUERY', document: 'RETRIEVAL_DOCUMENT' }

/** True since the second generation: it ignores `taskType`, and wants the purpose written into the text. */
const readsPurposeInText = ({ model }: EmbeddingsTarget): boolean => /gemini-embedding-[2-9]/.test(model)

const withPurpose = (text: string, target: EmbeddingsTarget): string => {
  if (!readsPurposeInText(target)) return text
  return target.purpose === 'query' ? `task: search result | query: ${text}` : `title: none | text: ${text}`
}

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
