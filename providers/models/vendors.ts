import type { ModelFacts, ModelTable } from './modelFacts.ts'

const checked = '2026-11-17'
const catalogue = '@earendil-works/pi-ai 1.5.0, providers/data'

const grok = {
  reads: ['images'],
  efforts: ['low', 'medium', 'high', 'xhigh'],
  refuses: ['stopSequences'],
  source: catalogue,
  checked,
} as const satisfies Omit<ModelFacts, 'names'>

/** xAI's own API. */
export const xaiModels: ModelTable = {
  provider: 'xai',
  newest: { ...grok, names: [] },
  rows: [
    { ...grok, names: ['grok-4.7', 'grok-4.6', 'grok-4.5'], window: 500_000 },
    {
      ...grok,
      names: ['grok-4.3'],
      efforts: ['none', 'low', 'medium', 'high', 'xhigh'],
      window: 1_000_000,
      maxOutput: 30_000,
    },
    {
      ...grok,
      names: ['grok-4.20-non-reasoning'],
      efforts: [],
      source: '@earendil-works/pi-ai 1.5.2, providers/data/vercel-ai-gateway',
      checked: '2026-11-18',
    },
    {
      ...grok,
      names: ['grok-4', 'grok-4-fast', 'grok-4-1-fast', 'grok-code-fast-1', 'grok-3'],
      efforts: [],
      thinks: true,
      window: 256_000,
      retires: '2026-05-15',
      source: 'https://docs.x.ai/docs/migration/may-15-retirement',
    },
  ],
}

const cohereDocs = 'https://docs.cohere.com/docs/models'

/** Thinking is a switch with a budget, for which Cohere documents no limits. */
const commandPlus = {
  reads: ['images'],
  thinks: true,
  maxOutput: 64_000,
  source: 'https://docs.cohere.com/docs/command-a-plus',
  checked,
} as const satisfies Omit<ModelFacts, 'names'>

const command = { source: cohereDocs, checked } as const

export const cohereModels: ModelTable = {
  provider: 'cohere',
  newest: { ...commandPlus, names: [] },
  rows: [
    { ...commandPlus, names: ['command-a-plus'], window: 128_000 },
    { ...command, names: ['command-a-reasoning'], thinks: true, window: 256_000, maxOutput: 32_000 },
    {
      ...command,
      names: ['command-a-vision'],
      reads: ['images'],
      tools: false,
      window: 128_000,
      maxOutput: 8000,
    },
    { ...command, names: ['command-a', 'command-a-translate'], window: 256_000, maxOutput: 8000 },
    {
      ...command,
      names: ['command-r7b', 'command-r-08-2024', 'command-r-plus-08-2024'],
      window: 128_000,
      maxOutput: 4000,
    },
    {
      ...command,
      names: ['command', 'command-light', 'command-r', 'command-r-plus'],
      window: 128_000,
      maxOutput: 4000,
      retires: '2025-09-15',
      source: 'https://docs.cohere.com/changelog/2025-09-15-major-command-deprecations',
    },
  ],
}

/** Perplexity's own models; it also offers those of others. */
export const perplexityModels: ModelTable = {
  provider: 'perplexity',
  newest: { names: [], reads: ['images'], thinks: true, source: 'https://docs.perplexity.ai', checked: null },
  rows: [
    {
      names: ['sonar', 'sonar-pro'],
      reads: ['images'],
      window: 128_000,
      source: 'https://docs.perplexity.ai/docs/sonar/openai-compatibility',
      checked: null,
    },
  ],
}
