import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Agent, type AgentOptions, listModels } from '../../src/index.ts'
import { type Loopback, loopback, type Reply } from '../loopback.ts'
import { rawServer } from '../transport/rawServer.ts'

// Embeddings and lists of models are no runs, but they follow the same `retry` and `timeouts`.

const vectors: Reply = { body: { data: [{ index: 0, embedding: [1] }] } }
const list: Reply = { body: { data: [{ id: 'a' }] } }
const busy: Reply = { status: 503, body: { error: { message: 'Busy' } } }

type Ask = (options: AgentOptions, signal?: AbortSignal) => Promise<unknown>

const asks: [string, Reply, Ask][] = [
  [
    'embeddings',
    vectors,
    (options, signal) => new Agent('openai', options).embedQuery('text', { ...(signal && { signal }) }),
  ],
  ['a list of models', list, (options, signal) => listModels('openai', { ...options, signal })],
]

const failing = (times: number, then: Reply): Promise<Loopback> =>
  loopback((_, nth) => (nth < times ? busy : then))

/** Never answers, and keeps the signals that stop it. */
const silent = () => {
  const signals: AbortSignal[] = []
  const fetch: typeof globalThis.fetch = (_, init) =>
    new Promise((_, reject) => {
      const { signal } = init ?? {}
      if (!signal) return
      signals.push(signal)
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  return { fetch, signals }
}

describe.each(asks)('%s', (_, answer, ask) => {
  test.each([0, 1, 4])('are tried again %i times, as retry says', async (maxRetries) => {
    const retry = { maxRetries, initialDelayMs: 1, maxDelayMs: 1 }
    const enough = await failing(maxRetries, answer)
    await ask({ baseUrl: enough.url, retry })
    expect(enough.requests).toHaveLength(maxRetries + 1)
    const never = await failing(100, answer)
    await expect(ask({ baseUrl: never.url, retry })).rejects.toMatchObject({ status: 503 })
    expect(never.requests).toHaveLength(maxRetries + 1)
  })

  test('wait no longer than retry says, whatever the server wants', async () => {
    const hour = { ...busy, headers: { 'retry-after': '3600' } }
    const { url, requests } = await loopback((_, nth) => (nth === 0 ? hour : answer))
    await ask({ baseUrl: url, retry: { maxDelayMs: 1 } })
    expect(requests).toHaveLength(2)
  })

  test('stop where no answer begins, and try again', async () => {
    const { fetch, signals } = silent()
    const retry = { maxRetries: 1, initialDelayMs: 1 }
    await expect(
      ask({ apiKey: 'k', connection: { fetch }, timeouts: { firstChunkMs: 5 }, retry }),
    ).rejects.toMatchObject({
      name: 'TimeoutError',
      message: expect.stringContaining('timeouts.firstChunkMs'),
    })
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
  })

  test('stop when their time as a whole is over, in a request or between two', async () => {
    const over = { name: 'TimeoutError', message: expect.stringContaining('timeouts.totalMs') }
    const { fetch, signals } = silent()
    await expect(ask({ apiKey: 'k', connection: { fetch }, timeouts: { totalMs: 5 } })).rejects.toMatchObject(
      over,
    )
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    let count = 0
    const refusing: typeof globalThis.fetch = async () => {
      count += 1
      return new Response('{}', { status: 503 })
    }
    const retry = { maxRetries: 5, initialDelayMs: 60_000 }
    const asked = ask({ apiKey: 'k', connection: { fetch: refusing }, retry, timeouts: { totalMs: 50 } })
    await expect(asked).rejects.toMatchObject(over)
    expect(count).toBe(1)
  })

  test('stop with their signal, in a request or between two', async () => {
    const silent = await rawServer(() => {})
    const controller = new AbortController()
    const asked = ask({ baseUrl: silent.url }, controller.signal)
    asked.catch(() => {})
    while (silent.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    controller.abort()
    await expect(asked).rejects.toMatchObject({ name: 'AbortedError' })
    await silent.closed()
    const refusing = await failing(100, answer)
    const second = new AbortController()
    const waiting = ask({ baseUrl: refusing.url, retry: { initialDelayMs: 60_000 } }, second.signal)
    waiting.catch(() => {})
    while (refusing.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    second.abort()
    await expect(waiting).rejects.toMatchObject({ name: 'AbortedError' })
    expect(refusing.requests).toHaveLength(1)
  })

  test('leave no timer behind', async () => {
    const { url } = await loopback(() => answer)
    const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
    await ask({ baseUrl: url })
    const before = timers()
    for (let round = 0; round < 5; round += 1) await ask({ baseUrl: url, timeouts: { totalMs: 3_600_000 } })
    expect(timers()).toBeLessThanOrEqual(before)
  })
})

test('the time as a whole counts over all batches of embeddings', async () => {
  const body = { data: Array.from({ length: 2048 }, (_, index) => ({ index, embedding: [1] })) }
  const { fetch: never, signals } = silent()
  let count = 0
  const agent = new Agent('openai', {
    apiKey: 'k',
    timeouts: { totalMs: 300 },
    connection: {
      fetch: (url, init) => {
        count += 1
        // Each of the two takes less than the whole.
        vi.advanceTimersByTime(200)
        return count === 1 ? Promise.resolve(Response.json(body)) : never(url, init)
      },
    },
  })
  const texts = Array.from({ length: 2050 }, (_, nth) => `text ${nth}`)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  await expect(agent.embedDocuments(texts)).rejects.toMatchObject({ name: 'TimeoutError' })
  expect(count).toBe(2)
  expect(signals.map(({ aborted }) => aborted)).toEqual([true])
})
