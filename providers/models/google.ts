import type { ModelFacts, ModelTable } from './modelFacts.ts'

/** A model of the Gemini API. */
type GoogleFacts = ModelFacts & {
  /** True up to Gemini 2: no ids of calls, no thought signatures, no schema beside tools. */
  before3?: true
  /** Gemma refuses `systemInstruction`: the system prompt goes before the first message. */
  systemAsText?: true
}

const deprecations = 'https://ai.google.dev/gemini-api/docs/deprecations'
const thinkingGuide = 'https://ai.google.dev/gemini-api/docs/thinking, @earendil-works/pi-ai 1.5.0'
const checked = '2026-11-17'

const everything = ['images', 'pdf', 'audio', 'video'] as const

const gemini3 = {
  reads: everything,
  efforts: ['low', 'medium', 'high'],
  maxOutput: 65_536,
  source: thinkingGuide,
  checked,
} as const satisfies Omit<GoogleFacts, 'names'>

const size = { window: 1_048_576 }

const gemini2 = {
  before3: true,
  reads: everything,
  ...size,
  maxOutput: 65_536,
  source: deprecations,
  checked,
} as const satisfies Omit<GoogleFacts, 'names'>

const gemma = {
  reads: ['images'],
  systemAsText: true,
  before3: true,
  source: '@ai-sdk/google 4.0.117, google-model-catalog; @earendil-works/pi-ai 1.5.0',
  checked,
} as const satisfies Omit<GoogleFacts, 'names'>

export const googleModels: ModelTable<GoogleFacts> = {
  provider: 'google',
  newest: { ...gemini3, names: [] },
  rows: [
    // 65,536 when streamed; catalogues have 32,768.
    { ...gemini3, ...size, names: ['gemini-4', 'gemini-4-argon', 'gemini-4-carbon'], checked: null },
    { ...gemini3, ...size, names: ['gemini-3.8-flash', 'gemini-3.7-flash'] },
    // What these names mean changes; every model they ever meant takes these efforts.
    {
      ...gemini3,
      ...size,
      names: ['gemini-flash-latest', 'gemini-flash-lite-latest', 'gemini-pro-latest', 'gemini-3.1-pro'],
    },
    {
      ...gemini3,
      ...size,
      names: ['gemini-3.6-flash', 'gemini-3.5-flash', 'gemini-3.5-flash-lite', 'gemini-3-flash'],
      efforts: ['minimal', 'low', 'medium', 'high'],
    },
    {
      ...gemini3,
      ...size,
      names: ['gemini-3.1-flash-lite'],
      efforts: ['minimal', 'low', 'medium', 'high'],
      retires: '2027-05-07',
      source: deprecations,
    },
    {
      ...gemini3,
      ...size,
      names: ['gemini-3-pro'],
      efforts: ['low', 'high'],
      retires: '2026-03-09',
      source: deprecations,
    },
    {
      ...gemini3,
      names: ['gemini-robotics-er-2', 'gemini-robotics-er-1.6'],
      efforts: ['minimal', 'low', 'medium', 'high'],
      window: 131_072,
    },
    {
      reads: ['images'],
      names: [
        'gemini-3-pro-image',
        'gemini-3.1-flash-image',
        'gemini-3.1-flash-lite-image',
        'gemini-2.5-flash-image',
        'gemini-nano-banana',
        'nano-banana-pro',
      ],
      tools: false,
      nativeSchema: false,
      source: deprecations,
      checked,
    },
    {
      ...gemini2,
      names: ['gemini-2.5-pro'],
      budget: { min: 128, max: 32_768, canStop: false },
      retires: '2026-06-17',
    },
    {
      ...gemini2,
      names: ['gemini-2.5-flash'],
      budget: { min: 1, max: 24_576, canStop: true },
      retires: '2026-06-17',
    },
    {
      ...gemini2,
      names: ['gemini-2.5-computer-use'],
      budget: { min: 1, max: 24_576, canStop: true },
      window: 128_000,
    },
    {
      ...gemini2,
      names: ['gemini-2.5-flash-lite'],
      checked: null,
      budget: { min: 512, max: 24_576, canStop: true },
      retires: '2026-07-22',
    },
    { ...gemini2, names: ['gemini-2.0', 'tunedModels', 'learnlm'], maxOutput: 8192, retires: '2026-06-01' },
    {
      ...gemini2,
      names: ['gemini-1.5', 'gemini-1.0', 'gemini-pro'],
      checked: null,
      maxOutput: 8192,
      retires: '2025-09-24',
    },
    {
      ...gemma,
      names: ['gemma', 'gemma-4'],
      efforts: ['minimal', 'high'],
      window: 262_144,
      maxOutput: 32_768,
    },
    {
      ...gemma,
      names: ['gemma-3', 'gemma-3n'],
      tools: false,
      nativeSchema: false,
      window: 131_072,
      maxOutput: 8192,
    },
  ],
}
