import type { PendingApproval } from '../messages/result.ts'

/**
 * Runs that wait for a decision, by the id of their chat. Each is given out once: a decision that is sent again finds
 * nothing. The oldest make room for new ones, and none is kept for ever.
 */
export class WaitingRuns {
  readonly #max: number
  readonly #maxAgeMs: number
  readonly #runs = new Map<string, { pending: PendingApproval; at: number }>()

  constructor(max: number, maxAgeMs: number) {
    this.#max = max
    this.#maxAgeMs = maxAgeMs
  }

  get(id: string): PendingApproval | undefined {
    this.#forgetOld()
    return this.#runs.get(id)?.pending
  }

  put(id: string, pending: PendingApproval): void {
    this.#forgetOld()
    this.delete(id)
    this.#runs.set(id, { pending, at: Date.now() })
    for (const oldest of this.#runs.keys()) {
      if (this.#runs.size <= this.#max) break
      this.delete(oldest)
    }
  }

  delete(id: string): void {
    this.#runs.delete(id)
  }

  /** They are in the order of their age. */
  #forgetOld(): void {
    for (const [id, { at }] of this.#runs) {
      if (Date.now() - at < this.#maxAgeMs) break
      this.delete(id)
    }
  }
}
