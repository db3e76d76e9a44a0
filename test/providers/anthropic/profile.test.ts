import { expect, it } from 'vitest'
import { anthropicProfile } from '../../../providers/anthropic/index.ts'

it.each([
  [
    'claude-3-haiku-20240307',
    { defaultMaxTokens: 4096, thinking: false, nativeSchema: false, sampling: 'both' },
  ],
  ['claude-3-5-sonnet-latest', { defaultMaxTokens: 8192, thinking: false }],
  ['claude-3-7-sonnet@20250219', { defaultMaxTokens: 64_000, thinking: true, thinkingStyle: 'budget' }],
  ['claude-opus-4-20250514', { defaultMaxTokens: 32_000, sampling: 'both', nativeSchema: false }],
  ['us.anthropic.claude-opus-4-1-20250805-v1:0', { defaultMaxTokens: 32_000, sampling: 'one' }],
  ['claude-sonnet-4-0', { defaultMaxTokens: 64_000, thinkingStyle: 'budget' }],
  ['anthropic/claude-haiku-4.5', { defaultMaxTokens: 64_000, nativeSchema: true, effort: false }],
  ['claude-opus-4-5-20251101', { thinkingStyle: 'budget', effort: true }],
  ['claude-sonnet-4-6', { thinkingStyle: 'adaptive', sampling: 'one', effort: true, thinkingOff: 'omit' }],
  ['claude-opus-4-7', { sampling: 'none', thinkingOff: 'omit', forcedToolChoice: true }],
  ['claude-sonnet-5', { thinkingOff: 'disabled', forcedToolChoice: true, defaultMaxTokens: 128_000 }],
  ['claude-fable-5', { thinkingOff: 'never', forcedToolChoice: true }],
  ['claude-fable-5-1', { thinkingOff: 'never', forcedToolChoice: false }],
  ['claude-opus-5-5', { thinkingOff: 'never', forcedToolChoice: false }],
  ['claude-sonnet-5-5', { thinkingOff: 'between_tools', forcedToolChoice: false }],
  ['claude-haiku-5-5', { thinkingOff: 'disabled', forcedToolChoice: true }],
  ['claude-mythos-preview', { thinkingStyle: 'adaptive', sampling: 'none', thinkingOff: 'never' }],
  ['kimi-k2-thinking', { defaultMaxTokens: 8192, thinkingStyle: 'budget', nativeSchema: false }],
])('knows what %s takes', (model, expected) => {
  expect(anthropicProfile(model)).toMatchObject(expected)
})
