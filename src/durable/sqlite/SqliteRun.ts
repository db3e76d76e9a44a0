import { ConfigurationError, errorFrom, OrchestrationError } from '../../messages/errors.ts'
import { waitReason } from '../../messages/result.ts'
import { endResult, partialResult } from '../outcome.ts'
import type { DurableChunk, DurableResult, DurableRun, RunInfo } from '../runs.ts'
import { hostedFrom } from './pack.ts'
import type { RunOwner } from './RunOwner.ts'
import { infoOf, type RunRow, type RunSummary } from './RunRows.ts'
import { readStream } from './StreamReader.ts'
import type { OpenStore } from './sqlite.ts'

/** The handle of a stored run. */
export class SqliteRun implements DurableRun {
  readonly id: string
  readonly agent: string
  readonly #owner: RunOwner
  readonly #run: RunSummary

  constructor(owner: RunOwner, run: RunSummary) {
    this.id = run.id
    this.agent = run.agent
    this.#owner = owner
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
    return readStream(this.#owner, this.#run, options)
  }

  async #result(): Promise<DurableResult> {
    const { runs, commands } = this.#owner.store
    const { n } = this.#run
    for (;;) {
      const now = this.#now()
      // A run with a fresh decision is about to continue.
      const isResting =
        now.status === 'waiting' ? !now.isUnsettled && commands.of(n).length === 0 : now.status !== 'running'
      const row = isResting ? runs.byNumber(n) : undefined
      if (row) return storedResult(this.#owner.store, row)
      const failure = this.#owner.failureOf(now)
      if (failure) throw failure
      await this.#owner.statuses.next(n)
    }
  }

  #now(): RunSummary {
    const now = this.#owner.store.runs.summary(this.id)
    // Its id may have been given to another run since.
    if (now?.n !== this.#run.n) throw new ConfigurationError(`The run "${this.id}" has been deleted.`)
    return now
  }
}

/** The result of a run that waits or is over. Throws its error. */
const storedResult = ({ items }: OpenStore, run: RunRow): DurableResult => {
  const from = hostedFrom(run.packedSnapshot, items.load(run.n, run.base))
  const snapshot = 'snapshot' in from ? from.snapshot : undefined
  const result = endResult(Object(snapshot).output)
  if (result) return result
  const partial = partialResult(snapshot)
  if (run.error) throw errorFrom(run.error, partial)
  const [first, ...rest] = run.pending
  if (!first) throw new OrchestrationError(`The run "${run.id}" ended without a result.`, { partial })
  return { ...partial, finishReason: waitReason(run.pending), pendingApproval: { calls: [first, ...rest] } }
}
