import { ConfigurationError } from '../messages/errors.ts'
import type { Keeper } from './Keeper.ts'
import type { DurableChunk, DurableResult, DurableRun, RunInfo } from './runs.ts'
import { readStream } from './StreamReader.ts'
import { infoOf, type RunSummary } from './sqlite/RunRows.ts'
import { storedOutcome } from './storedOutcome.ts'

/** The handle of a stored run. */
export class RunHandle implements DurableRun {
  readonly id: string
  readonly agent: string
  readonly #keeper: Keeper
  readonly #run: RunSummary

  constructor(keeper: Keeper, run: RunSummary) {
    this.id = run.id
    this.agent = run.agent
    this.#keeper = keeper
    this.#run = run
  }

  async info(): Promise<RunInfo> {
    return infoOf(this.#now())
  }

  get result(): Promise<DurableResult> {
    return this.#result()
  }

  stream(
    options: { after?: string; signal?: AbortSignal } = {},
  ): AsyncIterableIterator<{ cursor: string; chunk: DurableChunk }> {
    return readStream(this.#keeper, this.#run, options)
  }

  async #result(): Promise<DurableResult> {
    const { runs, commands } = this.#keeper.store
    const { n } = this.#run
    for (;;) {
      const now = this.#now()
      // A run with a fresh decision is about to continue.
      const isStill =
        now.status === 'waiting' ? !now.live && commands.of(n).length === 0 : now.status !== 'running'
      const row = isStill ? runs.byNumber(n) : undefined
      if (row) return storedOutcome(this.#keeper.store, row)
      const reason = this.#keeper.whyNot(now)
      if (reason) throw reason
      await this.#keeper.stands.next(n)
    }
  }

  #now(): RunSummary {
    const now = this.#keeper.store.runs.summary(this.id)
    // Its id may have been given to another run since.
    if (now?.n !== this.#run.n) throw new ConfigurationError(`The run "${this.id}" has been deleted.`)
    return now
  }
}
