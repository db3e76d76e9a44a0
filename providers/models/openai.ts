import type { ModelFacts, ModelTable } from './modelFacts.ts'

/** A model of OpenAI. */
type OpenAIFacts = ModelFacts & {
  /**
   * The limits of chat completions. Since gpt-5.4 they refuse function tools beside thinking, also where thinking is
   * only the model's default; some models they do not have at all.
   */
  chat?: 'toolsOnlyWithoutThinking' | 'missing'
}

const models = 'https://developers.openai.com/api/docs/models/gpt-6-luna, @ai-sdk/openai 4.0.114'
const deprecations = 'https://developers.openai.com/api/docs/deprecations, @earendil-works/pi-ai 1.5.0'
const checked = '2026-11-17'

const images = ['images'] as const
const documents = ['images', 'pdf'] as const

const fixedSampling = ['temperature', 'topP', 'stopSequences'] as const
const words = ['low', 'medium', 'high'] as const

const gpt6 = {
  reads: documents,
  refuses: fixedSampling,
  efforts: [...words, 'xhigh', 'max'],
  chat: 'toolsOnlyWithoutThinking',
  maxOutput: 128_000,
  source: models,
  checked,
} as const satisfies Omit<OpenAIFacts, 'names'>

const gpt5 = {
  reads: documents,
  refuses: fixedSampling,
  efforts: ['minimal', ...words],
  window: 400_000,
  maxOutput: 128_000,
  source: deprecations,
  checked,
} as const satisfies Omit<OpenAIFacts, 'names'>

const oSeries = {
  reads: documents,
  refuses: [...fixedSampling, 'parallelToolCalls'],
  efforts: words,
  window: 200_000,
  maxOutput: 100_000,
  source: deprecations,
  checked,
} as const satisfies Omit<OpenAIFacts, 'names'>

const gpt4 = { reads: documents, source: deprecations, checked } as const satisfies Omit<OpenAIFacts, 'names'>

const of2023 = { nativeSchema: false, window: 128_000, maxOutput: 4096, retires: '2026-10-23' } as const

const large = { window: 1_050_000 }
const upToXhigh = ['none', ...words, 'xhigh'] as const
const upToMax = ['none', ...words, 'xhigh', 'max'] as const
const pro = ['medium', 'high', 'xhigh'] as const

export const openaiModels: ModelTable<OpenAIFacts> = {
  provider: 'openai',
  newest: { ...gpt6, names: [] },
  rows: [
    { ...gpt6, ...large, names: ['gpt-6', 'gpt-6-astra', 'gpt-6.1-sol', 'gpt-6-cyber', 'gpt-6-rosalind'] },
    { ...gpt6, ...large, names: ['gpt-6-luna', 'gpt-6-sol', 'gpt-6.1-terra'], efforts: upToMax },
    {
      ...gpt6,
      ...large,
      names: ['gpt-5.6', 'gpt-daybreak-red', 'gpt-rosalind-research'],
      efforts: upToMax,
    },
    {
      ...gpt6,
      ...large,
      names: ['gpt-daybreak-blue'],
      efforts: upToMax,
      chat: 'missing',
      source: 'https://developers.openai.com/api/docs/models/gpt-daybreak-blue-latest',
      checked: '2026-11-19',
    },
    { ...gpt6, names: ['gpt-5.6-cyber'], window: 400_000 },
    { ...gpt6, ...large, names: ['gpt-5.5', 'gpt-5.4'], efforts: upToXhigh },
    { ...gpt6, names: ['gpt-5.4-mini'], efforts: upToXhigh, window: 400_000 },
    {
      ...gpt6,
      names: ['gpt-5.4-nano'],
      efforts: upToXhigh,
      window: 400_000,
      retires: '2027-04-01',
      source: deprecations,
    },
    { ...gpt6, ...large, names: ['gpt-5.5-pro', 'gpt-5.4-pro'], efforts: pro, chat: 'missing' },
    { ...gpt5, names: ['gpt-5.2-pro'], efforts: pro, chat: 'missing' },
    { ...gpt5, names: ['gpt-5.2', 'gpt-5.3'], efforts: upToXhigh },
    { ...gpt5, names: ['gpt-5.3-codex'], efforts: upToXhigh, chat: 'missing', retires: '2027-04-01' },
    {
      ...gpt5,
      names: ['gpt-5.3-codex-spark'],
      reads: [],
      efforts: upToXhigh,
      chat: 'missing',
      window: 128_000,
      maxOutput: 32_000,
      source: 'https://developers.openai.com/codex/models, @earendil-works/pi-ai 1.5.2',
      checked: '2026-11-19',
    },
    { ...gpt5, names: ['gpt-5.2-codex', 'gpt-5.1-codex-max'], efforts: [...words, 'xhigh'], chat: 'missing' },
    {
      ...gpt5,
      names: ['gpt-5-codex', 'gpt-5.1-codex', 'codex-mini-latest'],
      efforts: words,
      chat: 'missing',
    },
    { ...gpt5, names: ['gpt-5.1', 'gpt-5.1-mini'], efforts: ['none', ...words], retires: '2027-04-01' },
    { ...gpt5, names: ['gpt-5', 'gpt-5-mini', 'gpt-5-nano'], retires: '2026-12-11' },
    { ...gpt5, names: ['gpt-5-pro'], efforts: ['high'], chat: 'missing', retires: '2026-12-11' },
    {
      ...gpt4,
      names: ['gpt-5.1-chat', 'gpt-5.2-chat', 'gpt-5.3-chat'],
      refuses: fixedSampling,
      window: 128_000,
      maxOutput: 16_384,
      retires: '2026-08-10',
    },
    { ...gpt4, names: ['chat-latest'], reads: images, window: 400_000, maxOutput: 128_000 },
    {
      ...gpt4,
      names: ['gpt-5-chat', 'gpt-5-chat-latest', 'chatgpt-4o-latest'],
      reads: images,
      tools: false,
      window: 128_000,
      maxOutput: 16_384,
    },
    { ...oSeries, names: ['o3'], retires: '2026-12-11' },
    { ...oSeries, names: ['o3-pro'], chat: 'missing', retires: '2026-12-11' },
    {
      ...oSeries,
      names: ['o3-deep-research', 'o4-mini-deep-research'],
      efforts: ['medium'],
      chat: 'missing',
    },
    { ...oSeries, names: ['o1', 'o4-mini'], retires: '2026-10-23' },
    { ...oSeries, names: ['o1-pro'], chat: 'missing', retires: '2026-10-23' },
    { ...oSeries, names: ['o3-mini'], reads: [], retires: '2026-10-23' },
    {
      ...oSeries,
      names: ['o1-mini', 'o1-preview'],
      checked: null,
      reads: [],
      tools: false,
      nativeSchema: false,
      window: 128_000,
      maxOutput: 65_536,
      retires: '2025-10-27',
    },
    {
      ...gpt4,
      names: ['gpt-4.1', 'gpt-4.1-mini'],
      window: 1_047_576,
      maxOutput: 32_768,
      retires: '2027-01-14',
    },
    { ...gpt4, names: ['gpt-4.1-nano'], window: 1_047_576, maxOutput: 32_768, retires: '2026-10-23' },
    { ...gpt4, names: ['gpt-4o', 'gpt-4o-mini'], window: 128_000, maxOutput: 16_384, retires: '2027-01-14' },
    {
      ...gpt4,
      names: ['gpt-4o-audio-preview', 'gpt-4o-mini-audio-preview', 'gpt-audio', 'gpt-audio-mini'],
      reads: ['audio'],
      nativeSchema: false,
      window: 128_000,
      maxOutput: 16_384,
      retires: '2027-01-20',
    },
    {
      ...gpt4,
      names: ['gpt-4o-search-preview', 'gpt-4o-mini-search-preview'],
      reads: [],
      tools: false,
      refuses: ['temperature', 'topP', 'seed', 'stopSequences'],
      window: 128_000,
      maxOutput: 16_384,
    },
    {
      ...gpt4,
      names: ['computer-use-preview'],
      reads: images,
      chat: 'missing',
      window: 8192,
      maxOutput: 1024,
    },
    { ...gpt4, names: ['gpt-4-turbo', 'gpt-4-vision-preview'], reads: images, ...of2023 },
    { ...gpt4, names: ['gpt-4-0125', 'gpt-4-1106', 'gpt-4-turbo-preview'], reads: [], ...of2023 },
    { ...gpt4, names: ['gpt-4o-2024-05-13'], ...of2023 },
    { ...gpt4, names: ['gpt-4', 'gpt-4-32k'], reads: [], nativeSchema: false, retires: '2026-10-23' },
    {
      ...gpt4,
      names: ['gpt-3.5-turbo'],
      reads: [],
      nativeSchema: false,
      window: 16_385,
      maxOutput: 4096,
      retires: '2026-10-23',
    },
  ],
}
