import { ownValue } from '../../src/messages/json.ts'
import { arrayAt, numberAt, objectAt } from '../wire/wireJson.ts'
import type { EmbeddingsProtocol } from './protocol.ts'
import { answerOf, inOrder, usageOf, vectorsOf } from './vectors.ts'

/** What differs between the servers that took over OpenAI's endpoint. */
export type EmbeddingsHabits = {
  name: string
  /** The most texts in one request. */
  batchSize: number
  /** What the size of the vectors is called; Mistral has its own word. */
  dimensionsKey?: 'dimensions' | 'output_dimension'
  /** What `input_type` is for a question and for a text: NVIDIA's retrieval models demand it, OpenRouter passes it on. */
  inputTypes?: { query: string; document: string }
}

/** `POST /embeddings` as OpenAI made it and others took it over. */
export const openaiLikeEmbeddings = ({
  name,
  batchSize,
  dimensionsKey = 'dimensions',
  inputTypes,
}: EmbeddingsHabits): EmbeddingsProtocol => ({
  name,
  batchSize,
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
export const openaiEmbeddings = openaiLikeEmbeddings({ name: 'openai', batchSize: 2048 })
export const ollamaOpenaiEmbeddings = openaiLikeEmbeddings({ name: 'ollama-openai', batchSize: 512 })
export const togetherEmbeddings = openaiLikeEmbeddings({ name: 'together', batchSize: 128 })
export const fireworksEmbeddings = openaiLikeEmbeddings({ name: 'fireworks', batchSize: 8 })
export const mistralEmbeddings = openaiLikeEmbeddings({
  name: 'mistral',
  batchSize: 256,
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
