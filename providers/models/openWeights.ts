import type { HostedFacts, ModelTable } from './modelFacts.ts'

// Models with open weights, as nearly every server has them: Ollama, vLLM, LM Studio, OpenRouter. Hosts that change them
// have their own tables.
const checked = '2026-11-17'
const modelsDev = 'https://models.dev, as of 2026-07-02'
const catalogue = '@earendil-works/pi-ai 1.5.0, providers/data'

// Several windows of these families are from memory.
const text = { source: modelsDev, checked: null } as const
const images = { reads: ['images'], source: modelsDev, checked: null } as const
const words = ['low', 'medium', 'high'] as const
const replaysThinking = { reasoningReplay: 'reasoning_content' } as const

/** The facts about gpt-oss on every host: it cannot stop thinking. */
export const gptOss = {
  names: ['gpt-oss', 'gpt-oss-120b', 'gpt-oss-20b', 'gpt-oss-safeguard'],
  efforts: words,
  thinkingControl: 'reasoning_effort',
  window: 131_072,
  source: '@ai-sdk/groq 4.0.81, groq-model-catalog',
  checked,
} as const satisfies HostedFacts

export const deepseekFlash = {
  names: ['deepseek-flash', 'deepseek-v4-1-flash', 'deepseek-v4-1', 'deepseek-v4-flash-vision'],
  reads: ['images'],
  efforts: ['none', 'low', 'high', 'max'],
  window: 1_000_000,
  maxOutput: 384_000,
  ...replaysThinking,
  source: catalogue,
  checked,
} as const satisfies HostedFacts

export const deepseekPro = {
  names: ['deepseek-v4', 'deepseek-v4-pro', 'deepseek-v4-flash'],
  efforts: ['none', 'high', 'max'],
  window: 1_000_000,
  maxOutput: 384_000,
  ...replaysThinking,
  source: catalogue,
  checked,
} as const satisfies HostedFacts

export const kimiK3 = {
  names: ['kimi-k3', 'kimi-k3.1', 'kimi-latest', 'kimi-fast-latest'],
  reads: ['images'],
  efforts: ['low', 'high', 'max'],
  window: 1_048_576,
  maxOutput: 131_072,
  ...replaysThinking,
  source: catalogue,
  checked,
} as const satisfies HostedFacts

export const glm53 = {
  names: ['glm-5-3', 'glm-latest', 'glm-fast-latest', 'glm-5-3-fast'],
  efforts: ['low', 'high', 'max'],
  window: 1_048_573,
  maxOutput: 262_144,
  source: catalogue,
  checked,
} as const satisfies HostedFacts

export const glm53Flash = {
  ...glm53,
  names: ['glm-5-3-flash', 'glm-5-3-flashx', 'glm-flash-latest'],
  reads: ['images'],
} as const satisfies HostedFacts

export const openWeightModels: ModelTable<HostedFacts> = {
  provider: 'open weights',
  newest: {
    names: [],
    reads: ['images', 'pdf', 'audio'],
    efforts: ['none', ...words],
    source: modelsDev,
    checked: null,
  },
  rows: [
    gptOss,
    deepseekFlash,
    deepseekPro,
    kimiK3,
    glm53,
    glm53Flash,
    { ...text, names: ['qwen3'], efforts: ['none', ...words], window: 40_960 },
    { ...text, names: ['qwen3-next', 'qwen3-2507'], efforts: ['none', ...words], window: 262_144 },
    // Of these, one model thinks and another does not: neither can be asked to.
    {
      ...text,
      names: ['qwen3-235b-a22b-2507', 'qwen3-235b-a22b-instruct-2507', 'qwen3-30b-a3b-instruct-2507'],
      window: 262_144,
    },
    {
      ...text,
      names: ['qwen3-235b-a22b-thinking-2507', 'qwen3-30b-a3b-thinking-2507'],
      thinks: true,
      window: 262_144,
    },
    {
      ...images,
      names: [
        'qwen3.5-flash',
        'qwen3.5-plus',
        'qwen3.6-flash',
        'qwen3.6-plus',
        'qwen3.8-flash',
        'qwen3.8-max',
        'qwen3.8-omni-flash',
      ],
      efforts: ['none', ...words],
      window: 1_000_000,
    },
    { ...text, names: ['qwen3.7-max'], efforts: ['none', ...words], window: 1_000_000 },
    { ...text, names: ['qwen3.8-2.4t'], efforts: ['none', ...words], window: 262_144 },
    { ...text, names: ['qwen3-coder', 'qwen3-coder-next'], window: 262_144 },
    {
      ...images,
      names: ['qwen3-vl', 'qwen3.5', 'qwen3.6', 'qwen3.8'],
      efforts: ['none', ...words],
      window: 262_144,
    },
    { ...images, names: ['qwen2.5vl', 'qwen2.5-vl'], window: 128_000 },
    { ...text, names: ['qwen2.5', 'qwen2.5-coder', 'qwen-2.5'], window: 32_768 },
    { ...text, names: ['qwq'], thinks: true, window: 40_960 },
    { ...text, ...replaysThinking, names: ['deepseek', 'kimi'], efforts: ['none', ...words] },
    { ...text, ...replaysThinking, names: ['deepseek-r1'], thinks: true, window: 131_072 },
    {
      ...text,
      ...replaysThinking,
      names: ['deepseek-v3', 'deepseek-v3.1'],
      efforts: ['none', ...words],
      window: 163_840,
    },
    {
      ...images,
      ...replaysThinking,
      names: ['kimi-k2.5', 'kimi-k2.6', 'kimi-k2.7'],
      efforts: ['none', ...words],
      window: 262_144,
    },
    { ...text, ...replaysThinking, names: ['kimi-k2', 'kimi-k2-thinking'], thinks: true, window: 262_144 },
    {
      ...text,
      names: ['glm-4', 'glm-4.6', 'glm-4.7', 'glm-5', 'glm-5.1'],
      efforts: ['none', ...words],
      window: 200_000,
    },
    { ...text, names: ['glm-4.5', 'glm-4.5-air'], efforts: ['none', ...words], window: 131_072 },
    { ...text, names: ['glm-5-2'], efforts: ['none', ...words], window: 1_000_000 },
    {
      ...text,
      names: ['minimax-m2', 'minimax-m2.1', 'minimax-m2.5', 'minimax-m2.7'],
      efforts: words,
      window: 196_608,
    },
    { ...images, names: ['minimax-m3'], efforts: words, window: 512_000 },
    { ...images, names: ['minimax-m3.1-flash'], efforts: words, window: 1_000_000 },
    {
      ...text,
      names: ['llama3', 'llama-3', 'llama3.1', 'llama-3.1', 'llama3.3', 'llama-3.3'],
      window: 131_072,
    },
    { ...text, names: ['llama3.2', 'llama-3.2'], window: 131_072 },
    {
      ...images,
      names: ['llama3.2-vision', 'llama-3.2-11b-vision', 'llama-3.2-90b-vision'],
      window: 131_072,
    },
    // Hosts give it from 128k to a million.
    { ...images, names: ['llama4', 'llama-4'], window: 327_680 },
    { ...images, names: ['gemma3', 'gemma-3'], window: 131_072 },
    { ...images, names: ['gemma4', 'gemma-4'], efforts: ['none', ...words], window: 262_144 },
    { ...text, names: ['gemma2', 'gemma-2', 'gemma'], window: 8192 },
    { ...text, names: ['mistral', 'mistral-nemo', 'mixtral', 'devstral', 'codestral'], window: 131_072 },
    {
      ...images,
      names: ['mistral-small', 'mistral-small3.2', 'ministral-3', 'devstral-small-2'],
      window: 131_072,
    },
    { ...images, names: ['llava'], tools: false },
    {
      ...text,
      names: ['nemotron-3', 'nemotron-3-ultra', 'nemotron-3.5'],
      efforts: ['none', ...words],
      window: 262_144,
    },
    {
      ...images,
      names: ['nemotron-3-nano-omni', 'nemotron-3.5-super-vl'],
      efforts: ['none', ...words],
      window: 262_144,
    },
    {
      ...text,
      names: ['mimo-v2.5', 'step-3.5-flash', 'hy3', 'hy4', 'longcat-2.0', 'ling-3.0', 'ling-3.1'],
      efforts: ['none', ...words],
      window: 262_144,
    },
  ],
}
