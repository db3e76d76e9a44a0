import { setTimeout as pause } from 'node:timers/promises'
import type { Dice } from '../../proof/dice.ts'
import type { WorldScripts } from './buildWorld.ts'
import type { Place } from './requests.ts'
import { WorkerHandle } from './WorkerHandle.ts'
import type { Staff } from './Workers.ts'

export type DeploymentsSetup = {
  scripts: WorldScripts
  modelUrl: string
  place: Place
  /** The share of deploys that go to the next release, or back from it. */
  rollbacks: number
  /** The share of processes that are killed instead of stopped. */
  kills: number
  dice: Dice
}

/** Processes of a release that wait for their deploy. */
const readyWorkers = 3

/** Runs one process after the other on one store. Each has agents that differ a little from those before. */
export class Deployments implements Staff {
  readonly #setup: DeploymentsSetup
  readonly #alive = new Set<WorkerHandle>()
  /** The newest process, once its store is open. */
  #current: WorkerHandle | undefined
  /** To start a process takes longer than a deploy may: some of each release are always ready. */
  readonly #ready: Record<'worker' | 'next', WorkerHandle[]> = { worker: [], next: [] }
  #isNext = false
  #isEnded = false
  /** The last words of processes that ended by themselves. */
  readonly crashes: string[] = []

  constructor(setup: DeploymentsSetup) {
    this.#setup = setup
    this.#hire('worker')
    if (setup.rollbacks > 0) this.#hire('next')
  }

  async any(): Promise<WorkerHandle> {
    while (!this.#isEnded) {
      const current = this.#current
      await pause(2)
      if (current && !current.isStopped && !current.isDead) return current
    }
    throw new Error('The processes were stopped.')
  }

  /** Half of the deploys start the new process first; the others stop the old one first, and wait for it at times. */
  async deploy(): Promise<void> {
    const { dice, rollbacks, kills } = this.#setup
    if (dice.chance(rollbacks)) this.#isNext = !this.#isNext
    const before = this.#current
    const isFirst = dice.chance(0.5)
    const end = (): void => {
      if (dice.chance(kills)) before?.kill()
      else before?.stop()
    }
    if (!isFirst) end()
    if (!isFirst && dice.chance(0.5)) await before?.died
    await this.#start()
    if (isFirst) end()
  }

  /** Deploys the newest release, which reads what all of them have written, and waits until the others have ended. */
  async deployLast(): Promise<void> {
    this.#isNext = this.#setup.rollbacks > 0
    this.#current?.stop()
    await this.#start()
    await Promise.all([...this.#alive].filter(({ isStopped }) => isStopped).map(({ died }) => died))
  }

  async stop(): Promise<void> {
    this.#isEnded = true
    for (const worker of this.#alive) worker.kill()
    await Promise.all([...this.#alive].map(({ died }) => died))
  }

  async #start(): Promise<void> {
    const { place, dice } = this.#setup
    const script = this.#isNext ? 'next' : 'worker'
    this.#hire(script)
    const worker = this.#ready[script].shift()
    await worker?.ask('open', { ...place, variant: dice.below(3) }).catch(async (thrown) => {
      throw worker.isDead ? new Error(`A process does not start: ${await worker.died}`) : thrown
    })
    this.#current = worker
  }

  #hire(script: 'worker' | 'next'): void {
    const { scripts, modelUrl } = this.#setup
    while (this.#ready[script].length < readyWorkers) {
      const worker = new WorkerHandle(scripts[script], modelUrl)
      this.#ready[script].push(worker)
      this.#alive.add(worker)
      worker.died.then((lastWords) => {
        this.#alive.delete(worker)
        if (lastWords !== undefined) this.crashes.push(lastWords)
      })
    }
  }
}
