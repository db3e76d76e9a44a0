import type { HostedFacts, ModelTable } from './modelFacts.ts'
import { deepseekFlash, deepseekPro, glm53, glm53Flash, gptOss, kimiK3 } from './openWeights.ts'

const checked = '2026-11-17'
const catalogue = '@earendil-works/pi-ai 1.5.0, providers/data'
const words = ['low', 'medium', 'high'] as const

const groqDocs = '@ai-sdk/groq 4.0.81, groq-model-catalog; @earendil-works/pi-ai 1.5.0'
const onGroq = { source: groqDocs, checked, window: 131_072 } as const

export const groqModels: ModelTable<HostedFacts> = {
  provider: 'groq',
  newest: { names: [], reads: ['images'], efforts: ['none', ...words], source: groqDocs, checked },
  rows: [
    { ...gptOss, maxOutput: 65_536, serverTools: 'groq' },
    { ...onGroq, names: ['qwen3.8-27b'], reads: ['images'], efforts: ['none', ...words], maxOutput: 16_384 },
    // Groq calls all its thinking "default", which leaving it out says too.
    {
      ...onGroq,
      names: ['qwen3.6-27b', 'qwen3-32b'],
      reads: ['images'],
      efforts: ['none'],
      maxOutput: 16_384,
    },
    {
      ...onGroq,
      names: ['llama-3.3-70b-versatile'],
      maxOutput: 32_768,
      retires: '2026-08-16',
      source: 'https://console.groq.com/docs/deprecations',
    },
    { ...onGroq, names: ['llama-3.1-8b-instant'], maxOutput: 131_072 },
    { ...onGroq, names: ['llama-4-scout', 'llama-4-maverick'], reads: ['images'], maxOutput: 8192 },
    { ...onGroq, names: ['kimi-k2'] },
  ],
}

const onTogether = {
  reads: ['images'],
  thinks: true,
  thinkingControl: 'reasoning',
  efforts: [],
  source: catalogue,
  checked,
} as const satisfies Omit<HostedFacts, 'names'>

export const togetherModels: ModelTable<HostedFacts> = {
  provider: 'together',
  newest: { ...onTogether, names: [] },
  rows: [
    { ...gptOss, source: catalogue },
    { ...onTogether, names: ['Kimi-K3', 'DeepSeek-V4.1-Flash'], window: 1_048_576 },
    { ...onTogether, names: ['DeepSeek-V4-Pro', 'GLM-5.2', 'GLM-5.3'], reads: [], window: 1_048_575 },
    { ...onTogether, names: ['GLM-5.3-Flash', 'Muse-Spark-Open'], window: 1_048_575 },
    { ...onTogether, names: ['MiniMax-M3', 'Inkling'], window: 524_288 },
    { ...onTogether, names: ['Qwen3.5-9B', 'Nemotron-3.5-Super-VL'], window: 262_144 },
    { ...onTogether, names: ['Beam-1.0'], reads: [] },
    { ...onTogether, names: ['Qwen3.6-Plus', 'Qwen3.7-Max'], reads: [], window: 1_000_000 },
    { source: catalogue, checked, names: ['Llama-3.3', 'Meta-Llama-3.1', 'Llama-3.2'], window: 131_072 },
    { source: catalogue, checked, names: ['Llama-4'], reads: ['images'], window: 1_048_576 },
  ],
}

export const fireworksModels: ModelTable<HostedFacts> = {
  provider: 'fireworks',
  newest: { names: [], reads: ['images'], efforts: words, source: catalogue, checked },
  rows: [
    { ...gptOss, maxOutput: 32_768, source: catalogue },
    { ...deepseekFlash, names: ['deepseek-v4p1-flash', 'deepseek-flash-latest'] },
    { ...deepseekPro, names: ['deepseek-v4-pro', 'deepseek-v4p0'] },
    kimiK3,
    { ...glm53, maxOutput: 262_144 },
    glm53Flash,
    { names: ['qwen3p8-2p4t-a95b'], efforts: words, window: 262_144, source: catalogue, checked },
    {
      names: ['qwen3p8-max', 'qwen-max-latest', 'qwen3p8'],
      reads: ['images'],
      efforts: ['none', 'low', 'medium', 'xhigh'],
      window: 262_144,
      maxOutput: 131_072,
      source: catalogue,
      checked,
    },
    { names: ['minimax-m3', 'minimax-latest'], efforts: words, window: 512_000, source: catalogue, checked },
    { names: ['llama-v3'], window: 131_072, source: catalogue, checked },
  ],
}

const onNvidia = {
  thinks: true,
  thinkingControl: 'chat_template_kwargs',
  source: catalogue,
  checked,
} as const satisfies Omit<HostedFacts, 'names'>

export const nvidiaModels: ModelTable<HostedFacts> = {
  provider: 'nvidia',
  newest: { ...onNvidia, names: [], reads: ['images'] },
  rows: [
    { ...onNvidia, names: ['nemotron-3-ultra'], window: 1_000_000, maxOutput: 65_536 },
    { ...onNvidia, names: ['nemotron-3.5-lightning'], window: 262_144 },
    { ...onNvidia, names: ['nemotron-3.5-super-vl'], reads: ['images'], window: 1_048_576 },
    { ...onNvidia, names: ['nemotron-3-nano-omni'], reads: ['images'], window: 256_000 },
    { ...onNvidia, names: ['laguna'] },
    { ...onNvidia, names: ['llama-3.1-nemotron-ultra'], window: 128_000 },
    { ...onNvidia, names: ['deepseek-v4.1-flash', 'glm-5.3-flash'], reads: ['images'], window: 1_000_000 },
    { ...onNvidia, names: ['kimi-k2.6', 'minimax-m3.1-flash'], reads: ['images'], window: 262_144 },
    { ...gptOss, source: catalogue },
    {
      source: catalogue,
      checked,
      names: ['gemma-3', 'llama-3.2-11b-vision', 'llama-3.2-90b-vision'],
      reads: ['images'],
      window: 131_072,
    },
    { source: catalogue, checked, names: ['llama-3.1', 'llama-3.3', 'mistral-7b'], window: 128_000 },
    { source: catalogue, checked, names: ['mistral-7b-instruct-v0.3'], window: 65_536 },
  ],
}
