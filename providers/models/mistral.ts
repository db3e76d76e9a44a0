import type { ModelFacts, ModelTable } from './modelFacts.ts'

/** A model of Mistral's API. */
type MistralFacts = ModelFacts & {
  /** The first Magistral models think by their own system prompt (`prompt_mode`). */
  promptMode?: true
}

const reasoning = 'https://docs.mistral.ai/studio/conversations/reasoning, by @ai-sdk/mistral 4.0.84'
const models = 'https://docs.mistral.ai/models/overview, @earendil-works/pi-ai 1.5.0'
const checked = '2026-11-17'

/** Documents are read out by the API, also for models that see nothing. */
const documents = ['pdf'] as const
const pictures = ['images', 'pdf'] as const

const large4 = {
  reads: pictures,
  efforts: ['low', 'medium', 'high'],
  maxOutput: 262_144,
  source: reasoning,
  checked,
} as const satisfies Omit<MistralFacts, 'names'>

const hybrid = {
  reads: pictures,
  efforts: ['none', 'high'],
  window: 262_144,
  source: reasoning,
  checked,
} as const satisfies Omit<MistralFacts, 'names'>

const plain = { window: 262_144, source: models, checked } as const

export const mistralModels: ModelTable<MistralFacts> = {
  provider: 'mistral',
  newest: { ...large4, names: [] },
  rows: [
    { ...large4, names: ['mistral-large-4', 'mistral-large-4-0', 'mistral-large-4-0-8'], window: 1_048_576 },
    { ...hybrid, names: ['mistral-small', 'mistral-small-latest', 'mistral-small-2603'] },
    {
      ...hybrid,
      names: ['mistral-medium', 'mistral-medium-latest', 'mistral-medium-2604', 'mistral-medium-3-5'],
    },
    {
      ...hybrid,
      names: ['magistral-medium-latest', 'magistral-small-latest', 'labs-leanstral', 'mistral-vibe-cli'],
    },
    {
      names: ['magistral-medium', 'magistral-small'],
      reads: pictures,
      thinks: true,
      promptMode: true,
      window: 131_072,
      source: models,
      checked,
    },
    {
      names: ['zai-glm-5', 'zai-glm-5-3', 'zai-glm-latest'],
      reads: documents,
      efforts: ['low', 'high', 'max'],
      window: 1_048_576,
      source: reasoning,
      checked,
    },
    {
      names: ['zai-glm-5-3-flash'],
      reads: pictures,
      efforts: ['low', 'high', 'max'],
      window: 1_048_576,
      source: models,
      checked,
    },
    { ...hybrid, names: ['glm-5-2', 'zai-glm-5-2'], reads: documents, window: 1_048_576 },
    {
      names: ['deepseek-v4-1-flash'],
      reads: documents,
      efforts: ['none', 'low', 'high', 'max'],
      window: 1_048_576,
      source: reasoning,
      checked,
    },
    { ...plain, names: ['mistral-large', 'mistral-large-latest', 'mistral-large-2512'], reads: pictures },
    { ...plain, names: ['mistral-large-2411'], reads: documents, window: 131_072, retires: '2026-05-31' },
    { ...plain, names: ['mistral-medium-2508'], reads: pictures },
    { ...plain, names: ['mistral-medium-2505'], reads: pictures, window: 131_072 },
    { ...plain, names: ['mistral-small-2506'], reads: pictures, window: 131_072 },
    { ...plain, names: ['mistral-medium-3', 'mistral-medium-3.1'], reads: pictures, window: 131_072 },
    { ...plain, names: ['mistral-small-3.1', 'mistral-small-3.2'], reads: pictures, window: 131_072 },
    { ...plain, names: ['mistral-large-2407'], reads: documents, window: 131_072 },
    { ...plain, names: ['mistral-saba'], reads: documents, window: 32_768 },
    { ...plain, names: ['ministral', 'ministral-14b', 'ministral-8b'], reads: pictures },
    { ...plain, names: ['ministral-3b'], reads: pictures, window: 131_072 },
    { ...plain, names: ['devstral'], reads: documents, retires: '2026-07-30' },
    { ...plain, names: ['devstral-small'], reads: pictures, window: 256_000 },
    { ...plain, names: ['codestral', 'mistral-code'], reads: documents, window: 256_000 },
    { ...plain, names: ['voxtral'], reads: ['audio'], window: 32_768 },
    {
      ...plain,
      names: ['pixtral', 'pixtral-large', 'pixtral-12b'],
      reads: pictures,
      window: 131_072,
      retires: '2025-12-31',
    },
    { ...plain, names: ['open-mistral-nemo', 'mistral-nemo'], reads: documents, window: 131_072 },
  ],
}
