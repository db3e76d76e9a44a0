import { expect, it } from 'vitest'
import { anthropicProfile } from '../../../providers/anthropic/index.ts'

it.each([
  ['claude-3-haiku-20240307', { maxOutput: 4096, thinking: false, nativeSchema: false, sampling: 'both' }],
  ['claude-3-5-sonnet-latest', { maxOutput: 8192, thinking: false }],
  ['claude-3-7-sonnet@20250219', { maxOutput: 64_000, thinking: true, budget: { min: 1024 } }],
  ['claude-opus-4-20250514', { maxOutput: 32_000, sampling: 'both', nativeSchema: false }],
  ['us.anthropic.claude-opus-4-1-20250805-v1:0', { maxOutput: 32_000, sampling: 'one' }],
  ['claude-sonnet-4-0', { maxOutput: 64_000, budget: { min: 1024 } }],
  ['anthropic/claude-haiku-4.5', { maxOutput: 64_000, nativeSchema: true }],
  ['claude-opus-4-5-20251101', { budget: { min: 1024 }, efforts: expect.arrayContaining(['high']) }],
  [
    'claude-sonnet-4-6',
    { budget: undefined, sampling: 'one', efforts: expect.arrayContaining(['high']), thinkingOff: 'omit' },
  ],
  ['claude-opus-4-7', { sampling: 'none', thinkingOff: 'omit', forcedToolChoice: true }],
  ['claude-sonnet-5', { thinkingOff: 'disabled', forcedToolChoice: true, maxOutput: 128_000 }],
  ['claude-fable-5', { thinkingOff: 'never', forcedToolChoice: true }],
  ['claude-fable-5-1', { thinkingOff: 'never', forcedToolChoice: false }],
  ['claude-opus-5-5', { thinkingOff: 'never', forcedToolChoice: false }],
  ['claude-sonnet-5-5', { thinkingOff: 'between_tools', forcedToolChoice: false }],
  ['claude-haiku-5-5', { thinkingOff: 'disabled', forcedToolChoice: true }],
  ['claude-mythos-preview', { budget: undefined, sampling: 'none', thinkingOff: 'never' }],
  ['kimi-k2-thinking', { maxOutput: 8192, budget: { min: 1024 }, nativeSchema: false }],
])('knows what %s takes', (model, expected) => {
  expect({ budget: undefined, ...anthropicProfile(model, true) }).toMatchObject(expected)
})
