import { type Clock, longestTimeoutMs } from '../model/clock.ts'

export type TimeLimits = {
  /** How long the call may be silent. */
  idleMs: number
  /** How long it may take in all. */
  totalMs: number
}

/** The time of one call: progress renews it, up to a limit, and it is paused while a person is asked. */
export class CallTimer {
  readonly #limits: TimeLimits
  readonly #clock: Clock
  readonly #onEnd: (problem: string) => void
  /** What is left of the whole, as of the last start. */
  #leftMs: number
  #startedAt = 0
  #timer: unknown
  #isOver = false

  constructor(limits: TimeLimits, clock: Clock, onEnd: (problem: string) => void) {
    this.#limits = limits
    this.#clock = clock
    this.#onEnd = onEnd
    this.#leftMs = limits.totalMs
    this.#start()
  }

  /** The server has shown that it is at work. */
  renew(): void {
    if (this.#timer === undefined) return
    this.pause()
    this.#start()
  }

  pause(): void {
    if (this.#timer === undefined) return
    this.#clock.clearTimeout(this.#timer)
    this.#timer = undefined
    this.#leftMs -= this.#clock.now() - this.#startedAt
  }

  resume(): void {
    if (this.#timer === undefined && !this.#isOver) this.#start()
  }

  stop(): void {
    this.#isOver = true
    this.pause()
  }

  #start(): void {
    const { idleMs, totalMs } = this.#limits
    const ms = Math.max(0, Math.min(idleMs, this.#leftMs, longestTimeoutMs))
    this.#startedAt = this.#clock.now()
    this.#timer = this.#clock.setTimeout(() => {
      this.stop()
      this.#onEnd(
        this.#leftMs <= 0 && idleMs < totalMs
          ? `The tool did not finish within ${totalMs} ms`
          : `The tool was silent for ${idleMs} ms`,
      )
    }, ms)
  }
}
