import { isPassing } from './storeErrors.ts'

/** A run that stopped here and must continue. */
type Stopped = {
  error: Error
  /** Failures of the store in a row; 0 if it was something else, which another try would meet again. */
  failures: number
  /** The wait for the next try; undefined while it is tried. */
  timer?: NodeJS.Timeout | undefined
}

/** Times between two tries of a run whose store failed. */
const firstPauseMs = 50
const longestPauseMs = 5000

/** The runs that stopped in this process before their end, and when each is tried again. */
export class StoppedRuns {
  readonly #runs = new Map<number, Stopped>()
  readonly #onRetry: () => void

  /** `onRetry` is called when a run may be tried again. */
  constructor(onRetry: () => void) {
    this.#onRetry = onRetry
  }

  /** The reason why a run stopped here, and whether it continues by itself once the reason is gone. */
  failureOf(n: number): { error: Error; isTemporary: boolean } | undefined {
    const stopped = this.#runs.get(n)
    return stopped && { error: stopped.error, isTemporary: stopped.failures > 0 }
  }

  /** Lets a run try again: what was in its way may be gone. */
  retry(n: number): void {
    clearTimeout(this.#runs.get(n)?.timer)
    this.#runs.delete(n)
  }

  /** Forgets why a run stopped: it continues. */
  forget(n: number): void {
    this.#runs.delete(n)
  }

  clear(): void {
    for (const n of [...this.#runs.keys()]) this.retry(n)
  }

  /** Says whether a run is not tried for now. */
  isHeldBack(n: number): boolean {
    const stopped = this.#runs.get(n)
    return stopped !== undefined && (stopped.failures === 0 || stopped.timer !== undefined)
  }

  /** Notes why a run stopped. If the store failed, it is tried again after a while. */
  add(n: number, error: Error): void {
    const before = this.#runs.get(n)
    if (before?.timer) return
    const failures = isPassing(error) ? (before?.failures ?? 0) + 1 : 0
    const stopped: Stopped = { error, failures }
    this.#runs.set(n, stopped)
    if (failures === 0) return
    stopped.timer = setTimeout(
      () => {
        stopped.timer = undefined
        this.#onRetry()
      },
      Math.min(firstPauseMs * 2 ** (failures - 1), longestPauseMs),
    ).unref()
  }
}
