import { describe, expect, it } from 'vitest'
import { retryAfterMs } from '../../src/transport/retryAfter.ts'

const now = Date.parse('2026-01-01T00:00:00Z')
const wait = (headers: Record<string, string>) => retryAfterMs((name) => headers[name], now)

describe('the wait a server asks for', () => {
  it.each([
    [{ 'retry-after': '7' }, 7000],
    [{ 'retry-after': '0.25' }, 250],
    [{ 'retry-after': ' 3 ' }, 3000],
    [{ 'retry-after': '-5' }, 0],
    [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' }, 30_000],
    [{ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, 0],
    [{ 'retry-after-ms': '1500', 'retry-after': '9' }, 1500],
    [{ 'retry-after-ms': 'soon', 'retry-after': '9' }, 9000],
  ])('in %o is %i ms', (headers, expected) => expect(wait(headers as Record<string, string>)).toBe(expected))

  it('is unknown when there is none, or none that can be read', () => {
    expect(wait({})).toBeUndefined()
    expect(wait({ 'retry-after': '' })).toBeUndefined()
    expect(wait({ 'retry-after': 'later' })).toBeUndefined()
  })
})
