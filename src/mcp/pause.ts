import { onAbort } from '../transport/onAbort.ts'

/** Waits a while; not any longer once the signal is aborted. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      forget()
      resolve()
    }
    const timer = setTimeout(end, ms)
    const forget = onAbort(signal, end)
  })

/** Waits for a promise to settle, but not for long. */
export const atMost = async (ms: number, promise: Promise<unknown>): Promise<void> => {
  const over = new AbortController()
  await Promise.race([promise.catch(() => {}), pause(ms, over.signal)])
  over.abort()
}
