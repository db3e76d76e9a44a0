import { describe, expect, it } from 'vitest'
import { type Overflow, overflowOf } from '../../providers/wire/error.ts'
import type { WireError } from '../../providers/wire/protocol.ts'

// The words of every server are in test/hostile/overflowRows.ts. Here: what they are worth beside each other.

const rows: [string, WireError, Overflow | undefined][] = [
  ['nothing of the kind', { message: 'No.' }, undefined],
  ['a code without words', { message: 'No.', code: 'context_length_exceeded' }, {}],
  ['a type without words', { message: 'No.', code: '400', type: 'exceed_context_size_error' }, {}],
  ['a code in the text only', { message: 'context_length_exceeded' }, undefined],
  [
    'fields beside a code',
    { message: 'No.', code: 'request_too_large', window: 5, requested: 6 },
    { window: 5, requested: 6 },
  ],
  ['one field', { message: 'No.', code: 'request_too_large', window: 0 }, { window: 0 }],
  ['the other field', { message: 'No.', code: 'request_too_large', requested: 0 }, { requested: 0 }],
  ['fields without a sign of an overflow', { message: 'No.', window: 5, requested: 6 }, undefined],
  [
    'fields and a text with other counts: the fields',
    { message: 'maximum context length is 8,192 tokens', window: 5 },
    { window: 5 },
  ],
  [
    'counts with commas',
    { message: 'prompt is too long: 1,234,567 tokens > 1,000,000 maximum' },
    { requested: 1_234_567, window: 1_000_000 },
  ],
  [
    'output on top',
    { message: 'exceed context limit: 1,005 + 3 > 1,007' },
    { requested: 1008, window: 1007 },
  ],
  ['a window alone', { message: 'maximum context length is 8192.' }, { window: 8192 }],
  ['a code that sounds alike', { message: 'prompt is too long', code: 'string_above_max_length' }, undefined],
  ['a quota', { message: 'prompt is too long', code: '1308' }, undefined],
  ['a rate limit', { message: 'prompt is too long. Rate limit reached.' }, undefined],
  ['a limit that asks to wait', { message: 'Too many tokens, please wait before trying again.' }, undefined],
  ['too many requests', { message: 'Too many requests: too many input tokens' }, undefined],
  ['throttling', { message: 'ThrottlingException: too many input tokens' }, undefined],
]

describe('an error is an overflow, with the counts it gives', () => {
  it.each(rows)('%s', (_, error, overflow) => {
    expect(overflowOf(error)).toEqual(overflow)
  })
})

describe('more tokens than the account may send at once', () => {
  it.each<[string, Overflow | undefined]>([
    ['Rate limit: tokens per minute. Limit 10, Requested 11.', { window: 10, requested: 11 }],
    [
      'Rate limit: tokens per minute. Limit: 1,000, Used: 0, Requested: 1,001.',
      { window: 1000, requested: 1001 },
    ],
    ['Tokens per minute: limit 10, used 123, requested 11', { window: 10, requested: 11 }],
    // These pass with time.
    ['Rate limit: tokens per minute. Limit 10, Requested 10.', undefined],
    ['Rate limit: tokens per minute. Limit 10, Used 9, Requested 2.', undefined],
    ['Rate limit: requests per minute. Limit 10, Requested 11.', undefined],
  ])('%s', (message, overflow) => {
    expect(overflowOf({ message })).toEqual(overflow)
  })
})

it.each([
  [4000, {}],
  [4001, undefined],
])('only the first 4000 characters are searched: words that end at %d', (end, overflow) => {
  const words = 'exceeds the context window'
  expect(overflowOf({ message: `${'x'.repeat(end - words.length)}${words}, and more` })).toEqual(overflow)
})
