import type { ModelTable } from './modelFacts.ts'

// Where to look: none of these pages was read.
const checked = null

/** Models that make vectors, of all providers. */
export const embeddingModels: ModelTable = {
  provider: 'embeddings',
  newest: { names: [], source: 'none', checked },
  rows: [
    {
      names: ['text-embedding-3-small', 'text-embedding-3-large'],
      source: 'https://developers.openai.com/api/docs/deprecations',
      checked,
    },
    {
      names: ['gemini-embedding-001', 'gemini-embedding-2'],
      source: 'https://ai.google.dev/gemini-api/docs/deprecations',
      checked,
    },
    { names: ['mistral-embed'], source: 'https://docs.mistral.ai/models/overview', checked },
    { names: ['embed-v4.0'], source: 'https://docs.cohere.com/docs/models', checked },
    { names: ['nomic-embed-text'], source: 'https://ollama.com/library', checked },
    {
      names: ['multilingual-e5-large-instruct'],
      source: 'https://docs.together.ai/docs/serverless-models',
      checked,
    },
    { names: ['nv-embedqa-e5-v5'], source: 'https://build.nvidia.com', checked },
  ],
}
