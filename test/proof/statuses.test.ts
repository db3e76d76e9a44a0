import { describe, expect, test } from 'vitest'
import { wires } from '../hostile/hostileRun.ts'
import { answersWith, expectFailed, expectWhole, faultedLoop, steps, withFaultServer } from './faultedLoop.ts'
import type { ServedAnswer } from './faultServer.ts'

// A refusal at any step of a tool loop, on every protocol: it is tried again exactly where that may help, after the
// wait the server asks for, and no tool runs twice for it.

withFaultServer()

const final = [400, 401, 403, 404, 413, 422]
const passing = [408, 409, 429, 500, 502, 503, 529]

const refusal = (status: number, headers: Record<string, string> = {}): ServedAnswer => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: Buffer.from('{"error":{"message":"Not now."},"message":"Not now."}'),
})

describe.each(wires)('$model', (wire) => {
  describe.each(steps)('at the %s', (step) => {
    const before = step === 'first request' ? 0 : 1

    test.each(final)('%i ends the run at once', async (status) => {
      const looped = await faultedLoop(wire, answersWith(wire, step, [refusal(status)]))
      expectFailed(looped, step, { name: 'ModelError', status, retryable: false })
      expect(looped.requests).toBe(before + 1)
      expect(looped.retries).toEqual([])
    })

    test.each(passing)('%i is tried again, and the run comes to its right end', async (status) => {
      const looped = await faultedLoop(wire, answersWith(wire, step, [refusal(status), refusal(status)]))
      expectWhole(looped)
      expect(looped.requests).toBe(4)
      expect(looped.retries).toMatchObject([
        { restart: false, error: { status } },
        { restart: false, error: { status } },
      ])
    })

    test('is given up after as many tries as were allowed', async () => {
      const faults = Array.from({ length: 5 }, () => refusal(503))
      for (const maxRetries of [0, 1, 2]) {
        const looped = await faultedLoop(wire, answersWith(wire, step, faults), { retry: { maxRetries } })
        expectFailed(looped, step, { name: 'ModelError', status: 503, retryable: true })
        expect(looped.requests).toBe(before + 1 + maxRetries)
      }
    })
  })

  const soon = { min: 250, max: 500 }
  const waits: [string, Record<string, string>, { min: number; max: number }][] = [
    ['seconds', { 'retry-after': '7' }, { min: 7000, max: 7000 }],
    ['a fraction of a second', { 'retry-after': '0.25' }, { min: 250, max: 250 }],
    ['milliseconds', { 'retry-after-ms': '1234', 'retry-after': '9' }, { min: 1234, max: 1234 }],
    [
      'a date',
      { 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() },
      { min: 60_000, max: 60_000 },
    ],
    ['a date that is past', { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, { min: 0, max: 0 }],
    ['an absurd time, cut to maxDelayMs', { 'retry-after': '31536000' }, { min: 60_000, max: 60_000 }],
    ['a negative time', { 'retry-after': '-5' }, { min: 0, max: 0 }],
    ['words: the usual back-off', { 'retry-after': 'try again in 5' }, soon],
    ['nothing: the usual back-off', { 'retry-after': '' }, soon],
    ['not a number: the usual back-off', { 'retry-after-ms': 'NaN', 'retry-after': 'Infinity' }, soon],
  ]

  test.each(waits)('waits before the next try as the server asks: %s', async (_, headers, { min, max }) => {
    const looped = await faultedLoop(wire, answersWith(wire, 'first request', [refusal(429, headers)]))
    expectWhole(looped)
    expect(looped.retries).toHaveLength(1)
    expect(looped.retries[0]?.delayMs).toBeGreaterThanOrEqual(min)
    expect(looped.retries[0]?.delayMs).toBeLessThanOrEqual(max)
  })
})
