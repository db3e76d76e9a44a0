import { cohereEmbeddings } from './cohere.ts'
import { googleEmbeddings } from './google.ts'
import { ollamaEmbeddings } from './ollama.ts'
import {
  fireworksEmbeddings,
  mistralEmbeddings,
  nvidiaEmbeddings,
  ollamaOpenaiEmbeddings,
  openaiEmbeddings,
  openrouterEmbeddings,
  togetherEmbeddings,
} from './openai.ts'
import type { EmbeddingsProtocol } from './protocol.ts'

export { cohereEmbeddings } from './cohere.ts'
export { googleEmbeddings } from './google.ts'
export { ollamaEmbeddings } from './ollama.ts'
export { type EmbeddingsHabits, openaiEmbeddings, openaiLikeEmbeddings } from './openai.ts'
export {
  batchesOf,
  type Embeddings,
  type EmbeddingsProtocol,
  type EmbeddingsTarget,
} from './protocol.ts'

/** The providers that make embeddings. Anthropic and Groq make none. */
export const embeddingsProtocols: ReadonlyMap<string, EmbeddingsProtocol> = new Map([
  ['openai', openaiEmbeddings],
  ['openai-responses', openaiEmbeddings],
  ['openrouter', openrouterEmbeddings],
  ['together', togetherEmbeddings],
  ['fireworks', fireworksEmbeddings],
  ['nvidia', nvidiaEmbeddings],
  ['ollama-openai', ollamaOpenaiEmbeddings],
  ['google', googleEmbeddings],
  ['ollama', ollamaEmbeddings],
  ['mistral', mistralEmbeddings],
  ['cohere', cohereEmbeddings],
])
