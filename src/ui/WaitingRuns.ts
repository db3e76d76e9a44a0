import type { PendingApproval } from '../messages/result.ts'

type Waiting = { stored: string; at: number }

/**
 * Runs that wait for a decision, by the id of their chat, as text. The oldest make room for new ones, and none is kept for
 * ever. A run that waits holds the conversation of its client, which may be megabytes: `maxText` limits the characters of all.
 */
export class WaitingRuns {
  readonly #max: number
  readonly #maxAgeMs: number
  readonly #maxText: number
  /** In the order of their age. */
  readonly #runs = new Map<string, Waiting>()
  #text = 0

  constructor(max: number, maxAgeMs: number, maxText = 64 * 1024 * 1024) {
    this.#max = max
    this.#maxAgeMs = maxAgeMs
    this.#maxText = maxText
  }

  get(id: string): PendingApproval | undefined {
    this.#forgetOld()
    const found = this.#runs.get(id)
    return found && JSON.parse(found.stored)
  }

  put(id: string, pending: PendingApproval): void {
    this.delete(id)
    const stored = JSON.stringify(pending)
    this.#runs.set(id, { stored, at: Date.now() })
    this.#text += stored.length
    this.#forgetOld()
  }

  delete(id: string): void {
    this.#text -= this.#runs.get(id)?.stored.length ?? 0
    this.#runs.delete(id)
  }

  #forgetOld(): void {
    for (const [id, { at }] of this.#runs) {
      const isRoom = this.#runs.size <= this.#max && this.#text <= this.#maxText
      if (isRoom && Date.now() - at < this.#maxAgeMs) return
      this.delete(id)
    }
  }
}
