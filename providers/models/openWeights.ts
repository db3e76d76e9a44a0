import type { HostedFacts, ModelTable } from './modelFacts.ts'

// Models with open weights, as nearly every server has them: Ollama, vLLM, LM Studio, OpenRouter. Hosts that change them
// have their own tables.
const checked = '2026-11-17'
const modelsDev = 'https://models.dev, as of 2026-07-02'
const catalogue = '@earendil-works/pi-ai 1.5.0, providers/data'

/** The source of models as gateways list them in the newest release of the catalogue. */
const listed = {
  source: '@earendil-works/pi-ai 1.5.2, providers/data: openrouter, vercel-ai-gateway, huggingface',
  checked: '2026-11-18',
} as const

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
  maxOutput: 131_072,
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
    { ...text, names: ['qwen3', 'qwen-3'], efforts: ['none', ...words], window: 40_960 },
    { ...text, names: ['qwen3-next', 'qwen3-2507'], efforts: ['none', ...words], window: 262_144 },
    // Of these, one model thinks and another does not: neither can be asked to.
    {
      ...text,
      names: [
        'qwen3-235b-a22b-2507',
        'qwen3-235b-a22b-instruct-2507',
        'qwen3-30b-a3b-instruct-2507',
        'qwen-3-235b',
      ],
      window: 262_144,
    },
    { ...listed, names: ['qwen3-next-80b-a3b-instruct'], window: 262_144 },
    {
      ...listed,
      names: [
        'qwen3-vl-instruct',
        'qwen3-vl-8b-instruct',
        'qwen3-vl-30b-a3b-instruct',
        'qwen3-vl-235b-a22b-instruct',
      ],
      reads: ['images'],
      window: 262_144,
    },
    { ...listed, names: ['qwen3-max-thinking'], thinks: true, window: 256_000 },
    { ...listed, names: ['qwen-plus'], window: 1_000_000 },
    { ...listed, names: ['qwen3-coder-flash', 'qwen3-coder-plus'], window: 1_000_000 },
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
      names: ['deepseek-v3.1'],
      efforts: ['none', ...words],
      window: 163_840,
    },
    { ...listed, names: ['deepseek-v3', 'deepseek-v3-0324'], window: 163_840 },
    {
      ...images,
      ...replaysThinking,
      names: ['kimi-k2.5', 'kimi-k2.6', 'kimi-k2.7'],
      efforts: ['none', ...words],
      window: 262_144,
    },
    { ...text, ...replaysThinking, names: ['kimi-k2-thinking'], thinks: true, window: 262_144 },
    { ...listed, names: ['kimi-k2', 'kimi-k2-0711', 'kimi-k2-instruct'], window: 131_072 },
    { ...listed, names: ['kimi-k2-0905', 'kimi-k2-instruct-0905'], window: 262_144 },
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
    // MiniMax's own API gives it a million; other hosts half of that.
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
    { ...listed, names: ['mixtral-8x22b'], window: 65_536 },
    { ...text, names: ['mistral', 'mistral-nemo', 'mixtral', 'devstral', 'codestral'], window: 131_072 },
    {
      ...images,
      names: ['mistral-small', 'mistral-small3.2', 'ministral-3', 'devstral-small-2'],
      window: 131_072,
    },
    { ...images, names: ['llava'], tools: false },
    {
      ...text,
      names: ['nemotron-3', 'nemotron-3.5'],
      efforts: ['none', ...words],
      window: 262_144,
    },
    {
      ...listed,
      names: ['nemotron-3-ultra', 'nemotron-3.5-lightning'],
      efforts: ['none', ...words],
      window: 1_000_000,
    },
    { ...images, names: ['nemotron-3-nano-omni'], efforts: ['none', ...words], window: 262_144 },
    {
      ...listed,
      names: ['nemotron-3.5-super-vl'],
      reads: ['images'],
      efforts: ['none', ...words],
      window: 1_048_576,
    },
    { ...text, names: ['step-3.5-flash', 'hy3', 'ling-3.0'], efforts: ['none', ...words], window: 262_144 },
    {
      ...listed,
      names: ['mimo-v2.5', 'hy4'],
      reads: ['images'],
      efforts: ['none', ...words],
      window: 1_048_576,
    },
    {
      ...listed,
      names: ['mimo-v2.5-pro', 'hy4-preview', 'longcat-2.0', 'ling-3.1'],
      efforts: ['none', ...words],
      window: 1_000_000,
    },
    { ...listed, names: ['ling-3.0-flash-vl'], reads: ['images'], efforts: ['none', ...words] },
    // They read text alone, which a name that is not known does not say.
    {
      ...listed,
      names: [
        ...['aion-2.0', 'aion-3.0', 'aion-3.0-mini', 'aion-3.5', 'aion-3.5-mini', 'ampersand-v0.1'],
        ...['granite-4.2-8b', 'lfm-2.5', 'lfm2.5', 'lfm-3', 'mercury-2', 'mercury-2.5', 'mercury-3'],
        ...['laguna-s-2.1', 'laguna-xs-2.1', 'beam', 'solar-mini4', 'solar-pro4', 'minimax-m1'],
        ...['nemotron-nano', 'nemotron-super-3', 'north-mini-code', 'xing4.0', 'ripple', 'flint-v1.0'],
      ],
      efforts: ['none', ...words],
    },
    {
      names: ['nemotron-nano-12b-v2'],
      reads: ['images'],
      efforts: ['none', ...words],
      window: 131_072,
      source: 'https://docs.nvidia.com/nemo/megatron-bridge, models/vlm/nemotron-nano-v2-vl',
      checked: '2026-11-19',
    },
    {
      names: ['reka-edge'],
      reads: ['images'],
      window: 16_384,
      source: 'https://openrouter.ai/rekaai/reka-edge-2603',
      checked: '2026-11-20',
    },
    { ...listed, names: ['mercury-coder-small', 'toast-1', 'relace-search'] },
  ],
}

/** DeepSeek's own API. */
export const deepseekModels: ModelTable<HostedFacts> = {
  provider: 'deepseek',
  newest: { ...deepseekFlash, names: [] },
  rows: [
    deepseekFlash,
    deepseekPro,
    {
      names: ['deepseek-chat', 'deepseek-reasoner'],
      efforts: ['none', 'high', 'max'],
      window: 1_000_000,
      retires: '2026-07-24',
      source: 'https://api-docs.deepseek.com/news, deepseek-v4',
      checked,
    },
  ],
}
