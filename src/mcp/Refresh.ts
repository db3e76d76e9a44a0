import { atMost, pause } from './pause.ts'

/** Servers tell of changes one by one, some of them five times while they start. */
const debounceMs = 100
/** How long a call may wait for the list: the server may never give it. */
const patienceMs = 2000

/** Lists the tools of a server again when it says that they have changed: once for all that it says in a short while. */
export class Refresh {
  readonly #list: () => Promise<void>
  readonly #end: AbortSignal
  #isDue = false
  #running: Promise<void> | undefined

  constructor(list: () => Promise<void>, end: AbortSignal) {
    this.#list = list
    this.#end = end
  }

  /** Something has changed. */
  readonly request = (): void => {
    this.#isDue = true
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
  }

  /** Resolves once nothing is to be listed any more, or when that takes too long. */
  async settled(): Promise<void> {
    if (this.#running) await atMost(patienceMs, this.#running)
  }

  async #run(): Promise<void> {
    while (this.#isDue) {
      await pause(debounceMs, this.#end)
      if (this.#end.aborted) return
      this.#isDue = false
      // What was listed before stays, until the server tells of another change.
      await this.#list().catch(() => {})
    }
  }
}
