import { describe, expect, it } from 'vitest'
import { google } from '../../../providers/google/index.ts'

describe('an error body', () => {
  it('gives message, status word, request id and the wait it asks for', () => {
    const error = {
      code: 429,
      message: 'You exceeded your current quota.',
      status: 'RESOURCE_EXHAUSTED',
      details: [
        { '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [] },
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '37.25s' },
        { '@type': 'type.googleapis.com/google.rpc.RequestInfo', requestId: 'req-1' },
      ],
    }
    const read = {
      message: 'You exceeded your current quota.',
      code: 'RESOURCE_EXHAUSTED',
      requestId: 'req-1',
      retryAfterMs: 37_250,
    }
    expect(google.error({ error })).toEqual(read)
    expect(google.error([{ error }])).toEqual(read)
  })

  it('never shows its debug details, which may hold a key', () => {
    const details = [
      { '@type': 'type.googleapis.com/google.rpc.DebugInfo', detail: 'Invalid API key: AIza-secret' },
    ]
    const read = google.error({ error: { code: 400, message: 'API key not valid.', details } })
    expect(read).toEqual({ message: 'API key not valid.', code: '400' })
  })

  it('is readable when it is only a text, or has no text at all', () => {
    expect(google.error({ error: 'upstream gone' })).toEqual({ message: 'upstream gone' })
    expect(google.error({ error: { status: 'UNAVAILABLE' } })).toEqual({
      message: expect.stringContaining('UNAVAILABLE'),
      code: 'UNAVAILABLE',
    })
  })

  it.each([
    undefined,
    null,
    'text',
    [],
    {},
    { error: null },
    { candidates: [] },
    { message: 'not an error' },
  ])('is not seen in %j', (body) => {
    expect(google.error(body)).toBeUndefined()
  })
})
