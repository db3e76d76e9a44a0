import { describe, expect, it } from 'vitest'
import { redact } from '../../src/transport/redact.ts'

describe('redact', () => {
  it('hides the secrets it is given, but no text of three letters', () => {
    expect(redact('key a+b(c and abc', ['a+b(c', 'abc'])).toBe('key *** and abc')
  })

  it.each([
    ['Authorization: Bearer abc.def-123', 'Authorization: Bearer ***'],
    ['key sk-proj-Ab12_cdEFgh34ijKL56 rejected', 'key *** rejected'],
    ['google AIzaSyA-1234567890abc', 'google ***'],
    ['groq gsk_abcdefghijklmnop1234', 'groq ***'],
    ['GET https://x.test/v1?alt=sse&key=abc123&x=1', 'GET https://x.test/v1?alt=sse&key=***&x=1'],
    ['https://x.test/?api_key=abc', 'https://x.test/?api_key=***'],
  ])('hides what looks like a credential in "%s"', (text, expected) =>
    expect(redact(text, [])).toBe(expected),
  )

  it('leaves ordinary words alone', () => {
    const text = 'The task-force model risk-averse-1 needs a Bearer token; skip_the_rest, key = 5'
    expect(redact(text, [])).toBe(text)
  })
})
