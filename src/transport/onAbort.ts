import { AbortedError } from '../messages/errors.ts'

type Shared = { callbacks: Set<() => void>; listener: () => void }

const listening = new WeakMap<AbortSignal, Shared>()

/**
 * Calls back when the signal is aborted; the function returned takes that back. All callbacks of one signal share one
 * listener: Node takes more than ten on a signal for a leak and warns, but a signal may well end a hundred runs.
 */
export const onAbort = (signal: AbortSignal, callback: () => void): (() => void) => {
  const shared = listening.get(signal) ?? listen(signal)
  shared.callbacks.add(callback)
  return () => {
    shared.callbacks.delete(callback)
    if (shared.callbacks.size > 0 || listening.get(signal) !== shared) return
    signal.removeEventListener('abort', shared.listener)
    listening.delete(signal)
  }
}

const listen = (signal: AbortSignal): Shared => {
  const callbacks = new Set<() => void>()
  const listener = () => {
    listening.delete(signal)
    for (const callback of callbacks) callback()
  }
  const shared = { callbacks, listener }
  listening.set(signal, shared)
  signal.addEventListener('abort', listener, { once: true })
  return shared
}

type Bounds = {
  signal?: AbortSignal | undefined
  ms?: number | undefined
  /** The error where the time is over. */
  timeout(): Error
}

/** The longest wait of a timer: a longer one would go off immediately. */
export const longestTimerMs = 2 ** 31 - 1

/** The outcome of a promise, unless the signal is aborted or the time is over before. */
export const within = <T>(promise: Promise<T>, { signal, ms, timeout }: Bounds): Promise<T> =>
  new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      clean()
      reject(error)
    }
    const abort = (): void => fail(new AbortedError('The request was aborted.'))
    const timer =
      ms === undefined ? undefined : setTimeout(() => fail(timeout()), Math.min(ms, longestTimerMs))
    const forgetSignal = signal && onAbort(signal, abort)
    const clean = (): void => {
      clearTimeout(timer)
      forgetSignal?.()
    }
    promise.then(resolve, reject).finally(clean)
    if (signal?.aborted) abort()
  })
