import { AbortedError, errorDataOf, TimeoutError } from '../../src/messages/errors.ts'
import { defaultRetryPolicy, type RetryPolicy, retryDelayMs } from '../../src/model/retryPolicy.ts'
import { onAbort } from '../../src/transport/onAbort.ts'
import { within } from '../../src/transport/within.ts'
import type { RequestOptions } from '../provider.ts'

/** Repeats a request that fails in a way that may be temporary: for requests outside a run of the chart. */
export const retrying = async <T>(
  request: () => Promise<T>,
  signal: AbortSignal | undefined,
  retry: Partial<RetryPolicy> = {},
): Promise<T> => {
  const policy = { ...defaultRetryPolicy, ...retry }
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await request()
    } catch (error) {
      const { retryable = error instanceof TimeoutError, retryAfterMs } = errorDataOf(error)
      if (!retryable || attempt > policy.maxRetries) throw error
      const hint = retryAfterMs === undefined ? {} : { retryAfterMs }
      await sleep(retryDelayMs(policy, attempt, hint, Math.random), signal)
    }
  }
}

/** Work that is stopped when its signal is aborted or `timeouts.totalMs` is over, however many requests it takes. */
export const inTime = async <T>(
  work: (signal: AbortSignal) => Promise<T>,
  { signal, timeouts }: RequestOptions,
): Promise<T> => {
  const stop = new AbortController()
  const ms = timeouts?.totalMs
  const timeout = () => new TimeoutError(`The request took longer than ${ms} ms (timeouts.totalMs).`)
  try {
    return await within(work(stop.signal), { signal, ms, timeout })
  } finally {
    stop.abort()
  }
}

const sleep = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      forgetSignal?.()
      reject(new AbortedError('The request was aborted.'))
    }
    const timer = setTimeout(() => {
      forgetSignal?.()
      resolve()
    }, ms)
    const forgetSignal = signal && onAbort(signal, stop)
    if (signal?.aborted) stop()
  })
