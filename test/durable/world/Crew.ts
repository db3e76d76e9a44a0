import type { WorkerHandle } from './WorkerHandle.ts'

/** Workers that wait for something to do. To start one takes longer than what it does, so one is always ready. */
export class Crew {
  readonly #hire: () => WorkerHandle
  readonly #all = new Set<WorkerHandle>()
  readonly #idle: WorkerHandle[] = []

  constructor(hire: () => WorkerHandle) {
    this.#hire = hire
  }

  take(): WorkerHandle {
    const worker = this.#idle.shift() ?? this.#hired()
    if (this.#idle.length === 0) this.#idle.push(this.#hired())
    return worker
  }

  /** A worker that has closed what it had open, and lives. */
  giveBack(worker: WorkerHandle): void {
    this.#idle.unshift(worker)
  }

  async stop(): Promise<void> {
    for (const worker of this.#all) worker.kill()
    await Promise.all([...this.#all].map(({ died }) => died))
  }

  #hired(): WorkerHandle {
    const worker = this.#hire()
    this.#all.add(worker)
    worker.died.then(() => this.#all.delete(worker))
    return worker
  }
}
