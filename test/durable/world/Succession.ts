import type { Crew } from './Crew.ts'
import type { Death, Place } from './requests.ts'
import { WorkerDied, type WorkerHandle } from './WorkerHandle.ts'
import type { Staff } from './Workers.ts'

/** A succession of workers on one store: the first ones die at the moments they are given, the last one lives. */
export class Succession implements Staff {
  readonly #crew: Crew
  readonly #place: Place
  readonly #deaths: Death[]
  #current: Promise<WorkerHandle>
  /** Workers that have died. */
  deaths = 0

  constructor(crew: Crew, place: Place, deaths: readonly Death[]) {
    this.#crew = crew
    this.#place = place
    this.#deaths = [...deaths]
    this.#current = this.#next()
  }

  async any(): Promise<WorkerHandle> {
    for (;;) {
      const current = this.#current
      const worker = await current
      if (!worker.isDead) return worker
      // The first caller that sees it starts the next one.
      if (this.#current === current) this.#current = this.#next()
    }
  }

  /** The last one is free for something else, unless its moment comes after all. */
  async end(): Promise<void> {
    const worker = await this.#current
    try {
      await worker.ask('die', { moments: Number.MAX_SAFE_INTEGER })
      await worker.ask('close', {})
      this.#crew.giveBack(worker)
    } catch (thrown) {
      if (!(thrown instanceof WorkerDied)) throw thrown
    }
  }

  async #next(): Promise<WorkerHandle> {
    const worker = this.#crew.take()
    const dies = this.#deaths.shift()
    worker.died.then(() => {
      this.deaths += 1
    })
    try {
      await worker.ask('open', { ...this.#place, ...(dies && { dies }) })
      return worker
    } catch (thrown) {
      if (!(thrown instanceof WorkerDied)) throw thrown
      const lastWords = worker.isDead ? await worker.died : undefined
      if (lastWords !== undefined) throw new Error(`A worker does not start: ${lastWords}`)
      return this.#next()
    }
  }
}
