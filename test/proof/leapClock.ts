import type { Clock } from '../../src/model/clock.ts'

/** Longer than any wait before a retry, shorter than any time-out. */
const patienceMs = 100_000

/**
 * A clock for runs over real sockets: short waits pass at once, and long ones only on demand. So nothing is timed
 * out because the machine is busy, and no test has to wait for a time-out that is due.
 */
export class LeapClock implements Clock {
  #now = 0
  #nextId = 0
  readonly #waits = new Map<number, { due: number; callback: () => void; soon?: NodeJS.Immediate }>()

  now(): number {
    return this.#now
  }

  setTimeout(callback: () => void, ms: number): number {
    const id = this.#nextId++
    const due = this.#now + ms
    const soon = ms < patienceMs ? setImmediate(() => this.#leapTo(due)) : undefined
    this.#waits.set(id, { due, callback, ...(soon && { soon }) })
    return id
  }

  clearTimeout(id: number): void {
    clearImmediate(this.#waits.get(id)?.soon)
    this.#waits.delete(id)
  }

  /** Waits that were not ended. */
  get size(): number {
    return this.#waits.size
  }

  /** An hour passes. */
  leap(): void {
    this.#leapTo(this.#now + 3_600_000)
  }

  #leapTo(moment: number): void {
    this.#now = Math.max(this.#now, moment)
    for (const [id, { due, callback }] of [...this.#waits]) {
      if (due > this.#now || !this.#waits.delete(id)) continue
      callback()
    }
  }
}
