import { AbortedError, ModelError } from '../src/messages/errors.ts'
import { defaultRetryPolicy, type RetryPolicy, retryDelayMs } from '../src/model/retryPolicy.ts'
import { onAbort } from '../src/transport/onAbort.ts'

/** Runs a request again as long as it fails in a way that may pass: for requests outside a run of the chart. */
export const retrying = async <T>(
  request: () => Promise<T>,
  signal: AbortSignal | undefined,
  policy: RetryPolicy = defaultRetryPolicy,
): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await request()
    } catch (error) {
      if (!(error instanceof ModelError) || !error.retryable || attempt > policy.maxRetries) throw error
      const { retryAfterMs } = error
      const hint = retryAfterMs === undefined ? {} : { retryAfterMs }
      await sleep(retryDelayMs(policy, attempt, hint, Math.random), signal)
    }
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
