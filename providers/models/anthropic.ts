import type { ModelFacts, ModelTable } from './modelFacts.ts'

/** A model on the Messages API. Each generation of Claude refuses something more with a 400. */
type AnthropicFacts = ModelFacts & {
  /** The way to turn thinking off: leaving it out, one of these words, or none at all. */
  thinkingOff: 'omit' | 'disabled' | 'between_tools' | 'never'
  /** The sampling settings that it takes: `temperature` and `top_p`, one of the two, or neither. */
  sampling: 'both' | 'one' | 'none'
  /** False for a model that cannot be made to call a tool: it refuses `tool_choice` `any` and `tool`. */
  forcedToolChoice?: false
  /** True for a model whose thinking is bound to the conversation before it: after another one, it is refused. */
  bindsThinking?: true
  /** The API has no default for the length of an answer. */
  maxOutput: number
}

const models = 'https://platform.claude.com/docs/en/models/overview, @ai-sdk/anthropic 4.0.102'
const deprecations = 'https://platform.claude.com/docs/en/about-claude/model-deprecations'
const checked = '2026-11-17'

const documents = ['images', 'pdf'] as const
const words = ['low', 'medium', 'high'] as const
const allWords = [...words, 'xhigh', 'max'] as const

/** Claude since 4.6: the model decides how long it thinks, and an effort steers it; before, it was given a budget. */
const adaptive = {
  reads: documents,
  efforts: allWords,
  sampling: 'none',
  window: 1_000_000,
  maxOutput: 128_000,
  source: models,
  checked,
} as const

const budgeted = {
  reads: documents,
  budget: { min: 1024, max: 64_000, canStop: true },
  thinkingOff: 'omit',
  window: 200_000,
  source: deprecations,
  checked,
} as const

const of2024 = {
  nativeSchema: false,
  thinkingOff: 'omit',
  sampling: 'both',
  window: 200_000,
  source: deprecations,
  checked,
} as const

/** A Claude whose name says nothing is given only what each of the newest takes. */
const { window, ...behaviour } = {
  ...adaptive,
  thinkingOff: 'never',
  forcedToolChoice: false,
  bindsThinking: true,
} as const

/** Other vendors' models behind a Messages endpoint: the oldest common ground. */
export const otherVendors: AnthropicFacts = {
  names: [],
  reads: ['images'],
  links: false,
  nativeSchema: false,
  budget: { min: 1024, max: 64_000, canStop: true },
  thinkingOff: 'omit',
  sampling: 'both',
  maxOutput: 8192,
  source: 'https://docs.z.ai/devpack/tool/claude, https://api-docs.deepseek.com/guides/anthropic_api',
  checked,
}

export const anthropicModels: ModelTable<AnthropicFacts> = {
  provider: 'anthropic',
  newest: { ...behaviour, names: [] },
  rows: [
    { ...behaviour, names: ['claude'] },
    {
      ...behaviour,
      window,
      names: [
        'claude-fable-5-2',
        'claude-mythos-5-2',
        'claude-fable-5-1',
        'claude-mythos-5-1',
        'claude-opus-5-5',
      ],
    },
    {
      ...adaptive,
      names: ['claude-sonnet-5-5'],
      thinkingOff: 'between_tools',
      forcedToolChoice: false,
      bindsThinking: true,
    },
    { ...adaptive, names: ['claude-haiku-5-5'], thinkingOff: 'disabled', bindsThinking: true },
    { ...adaptive, names: ['claude-opus-5', 'claude-sonnet-5'], thinkingOff: 'disabled' },
    { ...adaptive, names: ['claude-fable-5', 'claude-mythos-5'], thinkingOff: 'never' },
    {
      ...adaptive,
      names: ['claude-mythos-preview'],
      efforts: [...words, 'max'],
      thinkingOff: 'never',
      forcedToolChoice: false,
    },
    { ...adaptive, names: ['claude-opus-4-8', 'claude-opus-4-7'], thinkingOff: 'omit' },
    {
      ...adaptive,
      names: ['claude-opus-4-6'],
      efforts: [...words, 'max'],
      thinkingOff: 'omit',
      sampling: 'one',
    },
    {
      ...adaptive,
      names: ['claude-sonnet-4-6'],
      efforts: [...words, 'max'],
      thinkingOff: 'omit',
      sampling: 'one',
    },
    { ...budgeted, names: ['claude-opus-4-5'], efforts: words, sampling: 'one', maxOutput: 64_000 },
    { ...budgeted, names: ['claude-haiku-4-5'], sampling: 'one', maxOutput: 64_000 },
    {
      ...budgeted,
      names: ['claude-sonnet-4-5'],
      sampling: 'one',
      maxOutput: 64_000,
      retires: '2026-11-30',
      source: '@anthropic-ai/sdk 1.8.0, DEPRECATED_MODELS',
    },
    {
      ...budgeted,
      names: ['claude-opus-4-1'],
      checked: null,
      nativeSchema: false,
      sampling: 'one',
      maxOutput: 32_000,
      retires: '2026-08-05',
    },
    {
      ...budgeted,
      names: ['claude-opus-4', 'claude-opus-4-0'],
      nativeSchema: false,
      sampling: 'both',
      maxOutput: 32_000,
      retires: '2026-06-15',
    },
    {
      ...budgeted,
      names: ['claude-sonnet-4', 'claude-sonnet-4-0'],
      nativeSchema: false,
      sampling: 'both',
      maxOutput: 64_000,
      retires: '2026-06-15',
    },
    {
      ...budgeted,
      names: ['claude-3-7-sonnet'],
      checked: null,
      nativeSchema: false,
      sampling: 'both',
      maxOutput: 64_000,
      retires: '2026-02-19',
    },
    {
      ...of2024,
      reads: documents,
      names: ['claude-3-5-sonnet', 'claude-3-5-haiku', 'claude-3.5'],
      checked: null,
      maxOutput: 8192,
      retires: '2026-02-19',
    },
    {
      ...of2024,
      reads: ['images'],
      names: ['claude-3', 'claude-3-opus', 'claude-3-sonnet', 'claude-3-haiku'],
      checked: null,
      maxOutput: 4096,
      retires: '2026-04-20',
    },
  ],
}
