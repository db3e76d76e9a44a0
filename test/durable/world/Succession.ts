import type { Crew } from './Crew.ts'
import type { Requests } from './requests.ts'
import { WorkerDied, type WorkerHandle } from './WorkerHandle.ts'
import type { Staff } from './Workers.ts'

/** One worker after the other on one store: the first ones die at the moments they are told, the last one lives. */
export class Succession implements Staff {
  readonly #crew: Crew
  readonly #place: Requests['open']['ask']
  readonly #deaths: number[]
  #current: Promise<WorkerHandle>
  /** How many have died. */
  deaths = 0

  constructor(crew: Crew, place: Requests['open']['ask'], deaths: readonly number[]) {
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
      // Whoever sees it first calls the next one.
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
    const diesIn = this.#deaths.shift()
    worker.died.then(() => {
      this.deaths += 1
    })
    try {
      await worker.ask('open', { ...this.#place, ...(diesIn !== undefined && { diesIn }) })
      return worker
    } catch (thrown) {
      if (thrown instanceof WorkerDied) return this.#next()
      throw thrown
    }
  }
}
