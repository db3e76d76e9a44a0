import { atMost, pause } from './pause.ts'

/** Servers announce changes one by one, some of them five times while they start. */
const debounceMs = 100
/** How long a call may wait for the list: the server may never give it. */
const patienceMs = 2000

/** Lists the tools of a server again when it says that they have changed: once for all that it says in a short while. */
export class Refresh {
  readonly #list: () => Promise<void>
  readonly #end: AbortSignal
  /** How many changes the server announced, and how many of them are in the list. */
  #told = 0
  #listed = 0
  #isRunning = false
  #round = Promise.resolve()

  constructor(list: () => Promise<void>, end: AbortSignal) {
    this.#list = list
    this.#end = end
  }

  /** Something has changed. */
  readonly request = (): void => {
    this.#told += 1
    if (!this.#isRunning) void this.#run()
  }

  /** Resolves once all announced changes are in the list, or when that takes too long. */
  async settled(): Promise<void> {
    if (this.#listed < this.#told) await atMost(patienceMs, this.#until(this.#told))
  }

  async #until(change: number): Promise<void> {
    while (this.#listed < change && !this.#end.aborted) await this.#round
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#listed < this.#told && !this.#end.aborted) {
      this.#round = this.#once()
      await this.#round
    }
    this.#isRunning = false
  }

  async #once(): Promise<void> {
    await pause(debounceMs, this.#end)
    if (this.#end.aborted) return
    const told = this.#told
    // What was listed before stays, until the server announces another change.
    await this.#list().catch(() => {})
    this.#listed = told
  }
}
