import { describe, expect, it } from 'vitest'
import {
  isRetryableStatus,
  modelError,
  type Overflow,
  overflowOf,
  statusIn,
  streamError,
  windowReached,
} from '../../../providers/wire/error.ts'
import type { WireError } from '../../../providers/wire/protocol.ts'

const plain = { name: 'ModelError', message: 'No.' }

it.each([
  [400, false],
  [407, false],
  [408, true],
  [409, true],
  [410, false],
  [428, false],
  [429, true],
  [430, false],
  [499, false],
  [500, true],
  [529, true],
])('status %d may pass: %s', (status, expected) => {
  expect(isRetryableStatus(status)).toBe(expected)
})

it.each([
  ['399', undefined],
  ['400', 400],
  ['429', 429],
  ['599', 599],
  ['600', undefined],
  ['4290', undefined],
  ['1429', undefined],
  ['42', undefined],
  ['', undefined],
  [undefined, undefined],
])('the status in the code %j is %s', (code, status) => {
  expect(statusIn(code)).toBe(status)
})

describe('an error of a provider', () => {
  it('has what is known, and nothing that is not', () => {
    expect(modelError({ message: 'No.' }, { mayPass: false })).toStrictEqual({ ...plain, retryable: false })
    expect(
      modelError(
        { message: 'No.', code: 'busy', type: 'kind', requestId: 'q1', retryAfterMs: 0 },
        { mayPass: true, status: 503 },
      ),
    ).toStrictEqual({
      ...plain,
      retryable: true,
      status: 503,
      code: 'busy',
      requestId: 'q1',
      retryAfterMs: 0,
    })
  })

  it.each(['insufficient_quota', 'billing_hard_limit_reached', 'billing_not_active'])(
    '%s is not tried again, as a code or as a type',
    (word) => {
      for (const error of [{ code: word }, { code: '429', type: word }])
        expect(modelError({ message: 'No.', ...error }, { mayPass: true }).retryable).toBe(false)
    },
  )

  it('of a request that is too long has one code, the counts, and no wait', () => {
    const error: WireError = {
      message: 'No.',
      code: 'context_length_exceeded',
      requestId: 'q1',
      retryAfterMs: 5,
      window: 10,
      requested: 12,
    }
    expect(modelError(error, { mayPass: true, status: 429 })).toStrictEqual({
      ...plain,
      retryable: false,
      status: 429,
      code: 'context_overflow',
      requestId: 'q1',
      window: 10,
      requested: 12,
    })
  })

  it.each([
    [413, true],
    [400, false],
    [429, false],
    [412, false],
  ])('with status %d is an overflow: %s', (status, isOverflow) => {
    const error = modelError({ message: 'No.' }, { mayPass: false, status })
    expect(error.code).toBe(isOverflow ? 'context_overflow' : undefined)
  })
})

describe('an error inside a stream', () => {
  it.each([
    ['overloaded_error', true],
    ['rate_limit_exceeded', true],
    ['ratelimit', true],
    ['server_error', true],
    ['api_error', true],
    ['UNAVAILABLE', true],
    ['timeout', true],
    ['INTERNAL', true],
    ['RESOURCE_EXHAUSTED', true],
    ['no_capacity', true],
    ['invalid_request', false],
    ['503', true],
    ['429', true],
    ['404', false],
  ])('%s may pass: %s', (word, retryable) => {
    const status = statusIn(word)
    expect(streamError({ message: 'No.', code: word })).toStrictEqual({
      ...plain,
      code: word,
      retryable,
      ...(status !== undefined && { status }),
    })
    const isWord = status === undefined
    expect(streamError({ message: 'No.', type: word }).retryable).toBe(isWord && retryable)
  })

  it('without any word does not', () => {
    expect(streamError({ message: 'No.' })).toStrictEqual({ ...plain, retryable: false })
  })

  it('follows what the protocol knows before its own words', () => {
    expect(streamError({ message: 'No.', code: '503' }, { status: 404 })).toStrictEqual({
      ...plain,
      code: '503',
      status: 404,
      retryable: false,
    })
    expect(streamError({ message: 'No.', code: '404' }, { mayPass: true })).toMatchObject({
      status: 404,
      retryable: true,
    })
    expect(streamError({ message: 'No.', code: 'overloaded' }, { mayPass: false }).retryable).toBe(false)
  })
})

it('an answer that stopped at the end of the window is a request that does not fit', () => {
  expect(windowReached('full')).toStrictEqual({
    name: 'ModelError',
    message: "The model's context window is full (full).",
    code: 'context_overflow',
    retryable: false,
  })
})

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
