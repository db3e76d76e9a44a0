import { cohereEmbeddings } from './cohereEmbeddings.ts'
import type { EmbeddingsProtocol } from './embeddingsProtocol.ts'
import { googleEmbeddings } from './googleEmbeddings.ts'
import { ollamaEmbeddings } from './ollamaEmbeddings.ts'
import {
  fireworksEmbeddings,
  mistralEmbeddings,
  nvidiaEmbeddings,
  ollamaOpenaiEmbeddings,
  openaiEmbeddings,
  openrouterEmbeddings,
  togetherEmbeddings,
} from './openaiEmbeddings.ts'

export { cohereEmbeddings } from './cohereEmbeddings.ts'
export {
  batchesOf,
  type Embeddings,
  type EmbeddingsProtocol,
  type EmbeddingsTarget,
} from './embeddingsProtocol.ts'

export { googleEmbeddings } from './googleEmbeddings.ts'
export { ollamaEmbeddings } from './ollamaEmbeddings.ts'
export { type EmbeddingsHabits, openaiEmbeddings, openaiLikeEmbeddings } from './openaiEmbeddings.ts'

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
