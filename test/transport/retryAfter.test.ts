import { describe, expect, it } from 'vitest'
import { retryAfterMs } from '../../providers/http/httpError.ts'

const now = Date.parse('2026-01-01T00:00:00Z')
const wait = (headers: Record<string, string>) => retryAfterMs((name) => headers[name], now)

describe('the wait a server asks for', () => {
  it.each([
    [{ 'retry-after': '7' }, 7000],
    [{ 'retry-after': '0.25' }, 250],
    [{ 'retry-after': ' 3 ' }, 3000],
    [{ 'retry-after': '-5' }, 0],
    [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' }, 30_000],
    [{ 'retry-after': 'Thursday, 01-Jan-26 00:00:30 GMT' }, 30_000],
    [{ 'retry-after': 'Thu Jan  1 00:00:30 2026 GMT' }, 30_000],
    [{ 'retry-after': '2026-01-01T00:00:30Z' }, 30_000],
    [{ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, 0],
    [{ 'retry-after-ms': '1500', 'retry-after': '9' }, 1500],
    [{ 'retry-after-ms': 'soon', 'retry-after': '9' }, 9000],
  ])('in %o is %i ms', (headers, expected) => expect(wait(headers as Record<string, string>)).toBe(expected))

  it('is unknown when there is none, or none that can be read', () => {
    expect(wait({})).toBeUndefined()
    expect(wait({ 'retry-after': '' })).toBeUndefined()
    expect(wait({ 'retry-after': 'later' })).toBeUndefined()
    expect(wait({ 'retry-after': 'try again in 5' })).toBeUndefined()
    expect(wait({ 'retry-after': '1, 2' })).toBeUndefined()
  })
})
