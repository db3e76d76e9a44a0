import type { ModelFacts, ModelTable } from './modelFacts.ts'

const models = 'https://docs.cohere.com/docs/models'
const checked = '2026-11-17'

/** Thinking is a switch with a budget, for which Cohere documents no limits. */
const plus = {
  reads: ['images'],
  thinks: true,
  maxOutput: 64_000,
  source: 'https://docs.cohere.com/docs/command-a-plus',
  checked,
} as const satisfies Omit<ModelFacts, 'names'>

const text = { source: models, checked } as const

export const cohereModels: ModelTable = {
  provider: 'cohere',
  newest: { ...plus, names: [] },
  rows: [
    { ...plus, names: ['command-a-plus'], window: 128_000 },
    { ...text, names: ['command-a-reasoning'], thinks: true, window: 256_000, maxOutput: 32_000 },
    {
      ...text,
      names: ['command-a-vision'],
      reads: ['images'],
      tools: false,
      window: 128_000,
      maxOutput: 8000,
    },
    { ...text, names: ['command-a', 'command-a-translate'], window: 256_000, maxOutput: 8000 },
    {
      ...text,
      names: ['command-r7b', 'command-r-08-2024', 'command-r-plus-08-2024'],
      window: 128_000,
      maxOutput: 4000,
    },
    {
      ...text,
      names: ['command', 'command-light', 'command-r', 'command-r-plus'],
      window: 128_000,
      maxOutput: 4000,
      retires: '2025-09-15',
      source: 'https://docs.cohere.com/changelog/2025-09-15-major-command-deprecations',
    },
  ],
}
