import { numberIn } from './SqliteFile.ts'
import type { OpenStore } from './sqlite.ts'

/** The longest wait. Timers do not count the time in which a computer sleeps, nor a clock that was set: so it looks again. */
const longestWaitMs = 60_000

/**
 * The one timer of a store: it fires at the next due time, of a run that waits or of a command that counts later. What is
 * due and could not be served, such as a run whose agent is not here, is looked at again with everything else.
 */
export class Alarm {
  readonly #store: OpenStore
  readonly #onDue: () => void
  #timer: NodeJS.Timeout | undefined
  #at = Number.POSITIVE_INFINITY

  constructor(store: OpenStore, onDue: () => void) {
    this.#store = store
    this.#onDue = onDue
  }

  /** Sets the timer to a due time, unless it fires earlier anyway. */
  add(due: number): void {
    if (due < this.#at) this.#fireAt(due)
  }

  /** Sets the timer to the next due time of the store that is still to come. */
  reset(): void {
    this.stop()
    const now = Date.now()
    const next = ['runs', 'commands'].flatMap((table) => {
      const row = this.#store.file.get(
        `SELECT due FROM ${table} WHERE due > ? AND due IS NOT NULL ORDER BY due LIMIT 1`,
        now,
      )
      return row ? numberIn(row, 'due') : []
    })
    if (next.length > 0) this.#fireAt(Math.min(...next))
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#at = Number.POSITIVE_INFINITY
  }

  #fireAt(due: number): void {
    clearTimeout(this.#timer)
    this.#at = due
    const ms = Math.min(Math.max(0, due - Date.now()), longestWaitMs)
    this.#timer = setTimeout(() => {
      this.stop()
      this.#onDue()
    }, ms).unref()
  }
}
