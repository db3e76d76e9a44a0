import { expect, it } from 'vitest'
import { type Counts, usageFrom } from '../../../providers/wire/decoder.ts'
import type { Usage } from '../../../src/messages/result.ts'

const none = { input: undefined, output: undefined }

const rows: [string, Counts, Usage | undefined][] = [
  ['nothing was counted', none, undefined],
  ['zero is a count', { input: 0, output: 0 }, { inputTokens: 0, outputTokens: 0, totalTokens: 0 }],
  ['only input', { ...none, input: 3 }, { inputTokens: 3 }],
  ['only output', { ...none, output: 4 }, { outputTokens: 4 }],
  ['only a total', { ...none, total: 9 }, { totalTokens: 9 }],
  ['input and a total', { ...none, input: 3, total: 9 }, { inputTokens: 3, totalTokens: 9 }],
  ['output and a total', { ...none, output: 4, total: 9 }, { outputTokens: 4, totalTokens: 9 }],
  [
    'a total that is not the sum',
    { input: 3, output: 4, total: 9 },
    { inputTokens: 3, outputTokens: 4, totalTokens: 7 },
  ],
  ['only cached tokens', { ...none, cached: 0 }, { cachedInputTokens: 0 }],
  ['only written tokens', { ...none, written: 0 }, { cacheWriteTokens: 0 }],
  ['only reasoning tokens', { ...none, reasoning: 0 }, { reasoningTokens: 0 }],
  ['only a cost', { ...none, cost: 0 }, { cost: 0 }],
  [
    'everything, thinking inside the output',
    { input: 10, output: 25, total: 35, cached: 1, written: 2, reasoning: 20, cost: 0.5 },
    {
      inputTokens: 10,
      outputTokens: 25,
      totalTokens: 35,
      cachedInputTokens: 1,
      cacheWriteTokens: 2,
      reasoningTokens: 20,
      cost: 0.5,
    },
  ],
  [
    'thinking beside the output',
    { input: 10, output: 5, total: 35, reasoning: 20 },
    { inputTokens: 10, outputTokens: 25, totalTokens: 35, reasoningTokens: 20 },
  ],
  [
    'thinking and nothing else, beside the output',
    { input: 10, output: undefined, total: 30, reasoning: 20 },
    { inputTokens: 10, outputTokens: 20, totalTokens: 30, reasoningTokens: 20 },
  ],
  [
    'thinking, and a total that does not fit it',
    { input: 10, output: 5, total: 34, reasoning: 20 },
    { inputTokens: 10, outputTokens: 5, totalTokens: 15, reasoningTokens: 20 },
  ],
  [
    'no thinking, and no output that was counted',
    { input: 10, output: undefined, total: 10, reasoning: 0 },
    { inputTokens: 10, totalTokens: 10, reasoningTokens: 0 },
  ],
]

it.each(rows)('%s', (_, counts, usage) => {
  expect(usageFrom(counts)).toEqual(usage)
})
