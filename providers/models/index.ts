import { anthropicModels } from './anthropic.ts'
import { bedrockModels } from './bedrock.ts'
import { googleModels } from './google.ts'
import { fireworksModels, groqModels, nvidiaModels, togetherModels } from './hosts.ts'
import { mistralModels } from './mistral.ts'
import type { ModelTable } from './modelFacts.ts'
import { openaiModels } from './openai.ts'
import { deepseekModels, openWeightModels } from './openWeights.ts'
import { cohereModels, perplexityModels, xaiModels } from './vendors.ts'

/** The tables of all models, by provider. */
export const modelTables: readonly ModelTable[] = [
  openaiModels,
  anthropicModels,
  googleModels,
  mistralModels,
  cohereModels,
  deepseekModels,
  xaiModels,
  perplexityModels,
  groqModels,
  togetherModels,
  fireworksModels,
  nvidiaModels,
  bedrockModels,
  openWeightModels,
]

/** Models that make vectors, of all providers. */
export const embeddingModels: ModelTable = {
  provider: 'embeddings',
  newest: { names: [], source: 'none', checked: null },
  rows: [
    {
      names: ['text-embedding-3-small', 'text-embedding-3-large'],
      source: 'https://developers.openai.com/api/docs/deprecations',
      checked: null,
    },
    {
      names: ['gemini-embedding-001', 'gemini-embedding-2'],
      source: 'https://ai.google.dev/gemini-api/docs/deprecations',
      checked: null,
    },
    { names: ['mistral-embed'], source: 'https://docs.mistral.ai/models/overview', checked: null },
    { names: ['embed-v4.0'], source: 'https://docs.cohere.com/docs/models', checked: null },
    { names: ['bge-m3'], source: 'https://deepinfra.com/models/embeddings', checked: null },
    { names: ['nomic-embed-text'], source: 'https://ollama.com/library', checked: null },
    {
      names: ['multilingual-e5-large-instruct'],
      source: 'https://docs.together.ai/docs/serverless-models',
      checked: null,
    },
    { names: ['nv-embedqa-e5-v5'], source: 'https://build.nvidia.com', checked: null },
  ],
}
