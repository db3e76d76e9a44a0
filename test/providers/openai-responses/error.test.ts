import { describe, expect, it } from 'vitest'
import { openaiResponses } from '../../../providers/openai-responses/index.ts'
import { completed, created, textDelta } from './responsesFixtures.ts'

const read = openaiResponses.error

describe('an error body', () => {
  it('is read in every shape servers use', () => {
    const error = {
      message: 'No such model.',
      type: 'invalid_request_error',
      param: 'model',
      code: 'model_not_found',
    }
    const expected = { message: 'No such model.', code: 'model_not_found' }
    expect(read({ error })).toEqual(expected)
    expect(read([{ error }])).toEqual(expected)
    expect(read({ error, status: 404 })).toEqual(expected)
    expect(read({ ...error, type: 'error' })).toEqual(expected)
    expect(read({ error: 'No such model.', code: 'model_not_found' })).toEqual(expected)
    expect(read({ object: 'error', ...error })).toEqual(expected)
    expect(read({ detail: 'No such model.' })).toEqual({ message: 'No such model.' })
    expect(read({ detail: [{ loc: ['body'], msg: 'field required' }] })).toEqual({
      message: 'field required',
    })
    expect(read({ message: 'No such model.' })).toEqual({ message: 'No such model.' })
  })

  it('falls back from the code to the type, and takes numbers for codes', () => {
    expect(read({ error: { message: 'x', type: 'server_error', code: null } })?.code).toBe('server_error')
    expect(read({ error: { message: 'x', code: 502 } })?.code).toBe('502')
    expect(read({ type: 'error', message: 'x', code: null })).toEqual({ message: 'x' })
  })

  it('says how long to wait when its message does', () => {
    const wait = (text: string) =>
      read({ error: { message: `Rate limit. Please try again in ${text}.` } })?.retryAfterMs
    expect(wait('6.5s')).toBe(6500)
    expect(wait('320ms')).toBe(320)
    expect(wait('1m2.5s')).toBe(62_500)
    expect(wait('a while')).toBeUndefined()
  })

  it('is not seen in ordinary events and responses', () => {
    for (const body of [
      created(),
      completed(),
      textDelta(0, 'x'),
      completed().response,
      { id: 'x' },
      null,
      'text',
      3,
    ]) {
      expect(read(body)).toBeUndefined()
    }
  })

  it('always has a message', () => {
    expect(read({ error: { code: 'odd' } })).toEqual({ message: '{"code":"odd"}', code: 'odd' })
    expect(read({ type: 'error' })?.message).not.toBe('')
  })
})
