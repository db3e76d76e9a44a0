import { AbortedError } from '../messages/errors.ts'
import { onAbort } from './onAbort.ts'

export type Bounds = {
  signal?: AbortSignal | undefined
  ms?: number | undefined
  /** The error where the time is over. */
  timeout(): Error
}

/** A timer cannot wait any longer: it would go off at once. */
export const longestTimerMs = 2 ** 31 - 1

/** The outcome of a promise, unless the signal is aborted or the time is over before. */
export const within = <T>(promise: Promise<T>, { signal, ms, timeout }: Bounds): Promise<T> =>
  new Promise((resolve, reject) => {
    const giveUp = (error: Error): void => {
      clean()
      reject(error)
    }
    const abort = (): void => giveUp(new AbortedError('The request was aborted.'))
    const timer =
      ms === undefined ? undefined : setTimeout(() => giveUp(timeout()), Math.min(ms, longestTimerMs))
    const forgetSignal = signal && onAbort(signal, abort)
    const clean = (): void => {
      clearTimeout(timer)
      forgetSignal?.()
    }
    promise.then(resolve, reject).finally(clean)
    if (signal?.aborted) abort()
  })
