import { describe, expect, it } from 'vitest'
import { anthropicModels } from '../../providers/models/anthropic.ts'
import { googleModels } from '../../providers/models/google.ts'
import { factsOf, knownModel } from '../../providers/models/modelFacts.ts'
import { openaiModels } from '../../providers/models/openai.ts'
import { openWeightModels } from '../../providers/models/openWeights.ts'
import { gatewayProfile } from '../../providers/openai-chat/hosted.ts'
import { findProvider } from '../../providers/registry.ts'

describe('the row of a model', () => {
  it.each([
    [openaiModels, 'gpt-5-mini', 'gpt-5-mini'],
    [openaiModels, 'my-gpt-5-mini', 'gpt-5-mini'],
    [openaiModels, 'MY_GPT-5-Mini_prod', 'gpt-5-mini'],
    [openaiModels, 'gpt-5-2025-08-07', 'gpt-5'],
    [openaiModels, 'openai/gpt-5.4-nano', 'gpt-5.4-nano'],
    [openaiModels, 'gpt-5-chat-latest', 'gpt-5-chat-latest'],
    [openaiModels, 'ft:gpt-4o-mini-2024-07-18:acme::7p4lURel', 'gpt-4o-mini'],
    [openaiModels, 'o3-mini-2025-01-31', 'o3-mini'],
    [anthropicModels, 'us.anthropic.claude-opus-4-5-20251101-v1:0', 'claude-opus-4-5'],
    [anthropicModels, 'claude-haiku-4-5@20251001', 'claude-haiku-4-5'],
    [anthropicModels, 'anthropic/claude-sonnet-4.6', 'claude-sonnet-4-6'],
    [anthropicModels, 'claude-opus-4-20250514', 'claude-opus-4'],
    [googleModels, 'models/gemini-2.5-flash-lite-preview-06-17', 'gemini-2.5-flash-lite'],
    [googleModels, 'tunedModels/mine-123', 'tunedModels'],
    [openWeightModels, 'accounts/fireworks/models/glm-5p3', 'glm-5-3'],
    [openWeightModels, 'qwen3:8b', 'qwen3'],
    [openWeightModels, 'google/gemma-3-27b-it', 'gemma-3'],
    [openWeightModels, 'gemma-4-31b-it', 'gemma-4'],
    [openWeightModels, 'Qwen/Qwen3-32B', 'qwen3'],
    [openWeightModels, 'meta-llama/Llama-3.1-8B-Instruct', 'llama-3.1'],
    [openWeightModels, 'Llama-3.2-1.5B', 'llama-3.2'],
    [openWeightModels, 'Qwen2.5-7B-Instruct', 'qwen2.5'],
    [openWeightModels, 'llama3.2-vision:11b', 'llama3.2-vision'],
  ])('is found in %#: %o', (table, model, name) => {
    expect(knownModel<(typeof table.rows)[number]>(table, model)?.names).toContain(name)
  })

  it.each(['gpt-5.9', 'gpt-7', 'turbo3', 'foo1', 'pro3', 'gpt-50', 'my-deployment'])(
    'is not that of another model whose name runs on: %s',
    (model) => {
      expect(knownModel(openaiModels, model)).toBeUndefined()
      expect(factsOf(openaiModels, model)).toBe(openaiModels.newest)
    },
  )

  it.each([
    'google/gemma-3-27b-it',
    'google/gemma-4-31b-it',
    'mistralai/mistral-small-3.2-24b-instruct',
    'mistralai/mistral-medium-3.1',
    'minimax/minimax-m3',
    'deepseek/deepseek-v4.1-flash',
  ])('behind a gateway is that of its vendor, so that it keeps its images: %s', (model) => {
    expect(gatewayProfile(model).attachments.images).toBe(true)
  })

  it('is that of the newest family where the version is not known', () => {
    expect(factsOf(anthropicModels, 'claude-opus-9')).toMatchObject({
      sampling: 'none',
      forcedToolChoice: false,
    })
    expect(factsOf(anthropicModels, 'claude-opus-9').window).toBeUndefined()
    expect(factsOf(googleModels, 'gemini-9-neon')).toBe(googleModels.newest)
  })
})

describe('what the vendor says of its model counts', () => {
  const profileOf = (provider: string, model: string) => findProvider(provider).chatModel(model, {}).profile

  it('MiniMax serves the whole window of M3, and other hosts half of it', () => {
    expect(profileOf('minimax', 'MiniMax-M3').window).toBe(1_000_000)
    expect(profileOf('openrouter', 'minimax/minimax-m3').window).toBe(512_000)
  })

  it('the fast Codex reads text alone, in a smaller window', () => {
    expect(profileOf('openai', 'gpt-5.3-codex-spark')).toMatchObject({
      attachments: { images: false, pdf: false },
      window: 128_000,
      maxOutput: 32_000,
    })
    expect(profileOf('openai', 'gpt-5.3-codex').window).toBe(400_000)
  })

  it('the small Nemotron that sees can think', () => {
    expect(profileOf('vercel', 'nvidia/nemotron-nano-12b-v2-vl').thinking).toBe(true)
  })

  it('Daybreak Blue has no chat completions', () => {
    expect(factsOf(openaiModels, 'gpt-daybreak-blue-latest').chat).toBe('missing')
  })
})
