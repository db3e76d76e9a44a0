/** Wakes those who wait for news of a run, by its number. */
export class Watch {
  readonly #waiting = new Map<number, Set<() => void>>()
  readonly #onHold: (isHeld: boolean) => void

  /** `onHold` is called with whether a caller waits. */
  constructor(onHold: (isHeld: boolean) => void) {
    this.#onHold = onHold
  }

  /** Resolves with the next news, or when the signal is aborted. */
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

  tell(run: number): void {
    for (const wake of [...(this.#waiting.get(run) ?? [])]) wake()
  }

  tellAll(): void {
    for (const run of [...this.#waiting.keys()]) this.tell(run)
  }
}
