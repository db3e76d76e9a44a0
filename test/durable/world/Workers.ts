import { setTimeout as pause } from 'node:timers/promises'
import type { Dice } from '../../proof/dice.ts'
import type { Place } from './requests.ts'
import { WorkerDied, type WorkerHandle } from './WorkerHandle.ts'

/** A place where callers find a worker that is alive. */
export type Staff = { any(): Promise<WorkerHandle> }

/** Starts in a row that may fail: after that, no other one is tried. */
const mostFailedStarts = 5

/** Workers on one store. Whichever dies is replaced, until they are stopped, or cannot start. */
export class Workers implements Staff {
  readonly #make: () => WorkerHandle
  readonly #place: Place
  readonly #dice: Dice
  readonly #alive = new Set<WorkerHandle>()
  readonly #open = new Set<WorkerHandle>()
  #isStopped = false
  #failedStarts = 0
  /** Workers that were killed, or stopped. */
  kills = 0
  /** The last words of those that were not killed. */
  readonly crashes: string[] = []

  constructor(make: () => WorkerHandle, place: Place, count: number, dice: Dice) {
    this.#make = make
    this.#place = place
    this.#dice = dice
    for (let index = 0; index < count; index += 1) void this.#keepOne()
  }

  async any(): Promise<WorkerHandle> {
    while (!this.#isStopped && this.canStart) {
      const open = [...this.#open].filter(({ isStopped }) => !isStopped)
      if (open.length > 0) return this.#dice.pick(open)
      await pause(5)
    }
    if (this.canStart) throw new Error('The workers were stopped.')
    throw new Error(`The workers do not start: ${this.crashes.at(-1)}`)
  }

  /** Says whether there will be workers: the last ones that were started did not all end at once. */
  get canStart(): boolean {
    return this.#failedStarts < mostFailedStarts
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const worker of this.#alive) worker.kill()
    await Promise.all([...this.#alive].map(({ died }) => died))
  }

  async #keepOne(): Promise<void> {
    while (!this.#isStopped && this.canStart) {
      const worker = this.#make()
      this.#alive.add(worker)
      const isOpen = await this.#openIn(worker)
      const lastWords = await worker.died
      this.#alive.delete(worker)
      this.#open.delete(worker)
      if (lastWords !== undefined) this.crashes.push(lastWords)
      else if (!this.#isStopped) this.kills += 1
      this.#failedStarts = isOpen ? 0 : this.#failedStarts + 1
      // At times the next one is there at once, at times the others are alone for a while.
      await pause(this.#dice.below(100))
    }
  }

  async #openIn(worker: WorkerHandle): Promise<boolean> {
    try {
      await worker.ask('open', { ...this.#place, variant: this.#dice.below(3) })
      this.#open.add(worker)
      return true
    } catch (thrown) {
      if (!(thrown instanceof WorkerDied)) {
        this.crashes.push(String(thrown))
        worker.kill()
      }
      return false
    }
  }
}
