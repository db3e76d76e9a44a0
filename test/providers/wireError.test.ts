import { describe, expect, it } from 'vitest'
import {
  isRetryableStatus,
  modelError,
  statusIn,
  streamError,
  windowReached,
} from '../../providers/wire/error.ts'
import type { WireError } from '../../providers/wire/protocol.ts'

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
    [413, false, true],
    [400, true, true],
    [400, false, false],
    [429, true, false],
    [412, false, false],
  ])('with status %d, wordless: %s, is an overflow: %s', (status, isWordless, isOverflow) => {
    const error = modelError({ message: 'No.' }, { mayPass: false, status, isWordless })
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
