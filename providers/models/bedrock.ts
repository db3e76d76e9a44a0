import type { ModelFacts, ModelTable } from './modelFacts.ts'

/** A model of Bedrock's Converse API. */
export type ConverseFacts = ModelFacts & {
  /** The field that says how much it thinks, in the vendor's own part of the request. */
  thinkingControl?: 'reasoning_effort' | 'reasoning' | 'reasoningConfig'
  /** Amazon's own models: richer tool results, tools that Amazon runs, and cache points. */
  isNova?: true
}

const catalogue = '@earendil-works/pi-ai 1.5.2, providers/data/amazon-bedrock'
const novaDocs = 'https://docs.aws.amazon.com/nova/latest/nova2-userguide, @earendil-works/pi-ai 1.5.2'
const checked = '2026-11-18'

const listed = { source: catalogue, checked } as const
/** A model without a schema for its answer (docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html). */
const free = { ...listed, nativeSchema: false } as const

const nova = {
  reads: ['images', 'pdf', 'video'],
  nativeSchema: false,
  isNova: true,
  source: novaDocs,
  checked,
} as const satisfies Omit<ConverseFacts, 'names'>

const nova1 = { ...nova, window: 300_000, maxOutput: 10_000 } as const

/** The models that Bedrock has with other sizes or abilities than their vendors, beside Claude. */
export const bedrockModels: ModelTable<ConverseFacts> = {
  provider: 'bedrock',
  newest: { names: [], reads: ['images'], nativeSchema: false, source: catalogue, checked: null },
  rows: [
    {
      ...nova,
      names: ['nova-2-lite', 'nova-2-pro', 'nova-2'],
      efforts: ['none', 'low', 'medium', 'high'],
      thinkingControl: 'reasoningConfig',
      window: 1_000_000,
      maxOutput: 65_535,
    },
    { ...nova1, names: ['nova-lite', 'nova-pro'] },
    { ...nova1, names: ['nova-premier'], window: 1_000_000 },
    { ...nova1, names: ['nova-micro'], reads: [], window: 128_000 },
    {
      ...listed,
      names: ['gpt-oss', 'gpt-oss-120b', 'gpt-oss-20b'],
      efforts: ['low', 'medium', 'high'],
      thinkingControl: 'reasoning_effort',
      window: 131_072,
      maxOutput: 128_000,
    },
    {
      ...listed,
      names: ['gpt-oss-safeguard-120b', 'gpt-oss-safeguard-20b'],
      efforts: ['low', 'medium', 'high'],
      thinkingControl: 'reasoning_effort',
      window: 128_000,
      maxOutput: 16_384,
    },
    { ...listed, names: ['qwen3-vl-235b-a22b'], reads: ['images'], window: 262_144 },
    {
      ...listed,
      names: ['ministral-3-14b', 'ministral-3-8b'],
      reads: ['images'],
      window: 128_000,
      maxOutput: 4096,
    },
    { ...listed, names: ['gemma-4-e2b'], reads: ['images'], thinks: true, window: 131_072, maxOutput: 8192 },
    { ...listed, names: ['nemotron-nano-12b-v2'], reads: ['images'], window: 131_072, maxOutput: 8192 },
    { ...listed, names: ['nemotron-nano-9b-v2'], window: 131_072, maxOutput: 8192 },
    {
      ...listed,
      names: ['xai.grok-4.3'],
      reads: ['images'],
      thinks: true,
      window: 1_000_000,
      maxOutput: 131_072,
    },
    { ...free, names: ['llama3-1', 'llama3-3', 'llama3-2'], window: 128_000, maxOutput: 4096 },
    {
      ...free,
      names: ['llama3-2-11b', 'llama3-2-90b'],
      reads: ['images'],
      window: 128_000,
      maxOutput: 4096,
    },
    { ...free, names: ['llama4-maverick'], reads: ['images'], window: 1_000_000, maxOutput: 8192 },
    { ...free, names: ['llama4-scout'], reads: ['images'], window: 10_000_000, maxOutput: 8192 },
    { ...listed, names: ['deepseek.v3', 'deepseek.v3.2'], thinks: true, window: 163_840, maxOutput: 81_920 },
    { ...free, names: ['deepseek.r1'], tools: false, thinks: true, window: 128_000, maxOutput: 32_768 },
    { ...listed, names: ['qwen3-32b'], thinks: true, window: 32_768, maxOutput: 16_384 },
    { ...listed, names: ['qwen3-235b-a22b-2507'], window: 262_144, maxOutput: 131_072 },
    { ...listed, names: ['qwen3-coder-30b-a3b'], window: 262_144, maxOutput: 131_072 },
    { ...listed, names: ['qwen3-coder-480b-a35b'], window: 131_072, maxOutput: 65_536 },
    { ...listed, names: ['qwen3-next-80b-a3b'], window: 262_144 },
    { ...listed, names: ['minimax-m2'], thinks: true, window: 204_608, maxOutput: 128_000 },
    { ...listed, names: ['kimi-k2-thinking'], thinks: true, window: 262_144, maxOutput: 16_000 },
    { ...listed, names: ['kimi-k2.5'], reads: ['images'], thinks: true, window: 262_144, maxOutput: 16_384 },
    { ...free, names: ['palmyra-x4'], thinks: true, window: 122_880, maxOutput: 8192 },
    { ...free, names: ['palmyra-x5'], thinks: true, window: 1_040_000, maxOutput: 8192 },
    { ...free, names: ['jamba'], window: 256_000, maxOutput: 4096 },
  ],
}
