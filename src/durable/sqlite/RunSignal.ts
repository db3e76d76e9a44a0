/** Wakes callers that wait for a change of a run, by the run's number. */
export class RunSignal {
  readonly #waiting = new Map<number, Set<() => void>>()
  readonly #onHold: (isHeld: boolean) => void

  /** `onHold` is called with whether a caller waits. */
  constructor(onHold: (isHeld: boolean) => void) {
    this.#onHold = onHold
  }

  /** Resolves with the next change, or when the signal is aborted. */
  next(run: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const waiting = this.#waiting.get(run) ?? new Set()
      if (this.#waiting.size === 0) this.#onHold(true)
      this.#waiting.set(run, waiting)
      const wake = () => {
        signal?.removeEventListener('abort', wake)
        waiting.delete(wake)
        if (waiting.size === 0 && this.#waiting.get(run) === waiting) this.#waiting.delete(run)
        if (this.#waiting.size === 0) this.#onHold(false)
        resolve()
      }
      waiting.add(wake)
      signal?.addEventListener('abort', wake)
    })
  }

  notify(run: number): void {
    for (const wake of [...(this.#waiting.get(run) ?? [])]) wake()
  }

  notifyAll(): void {
    for (const run of [...this.#waiting.keys()]) this.notify(run)
  }
}

/** Looks for changes again and again. A process that does nothing else may end, unless a caller waits in it. */
export class Poll {
  readonly #timer: NodeJS.Timeout
  #holds = 0

  constructor(look: () => void, ms: number) {
    this.#timer = setInterval(look, ms).unref()
  }

  /** Notes that a caller starts to wait, or no longer does. */
  readonly hold = (isHeld: boolean): void => {
    this.#holds += isHeld ? 1 : -1
    if (this.#holds > 0) this.#timer.ref()
    else this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
