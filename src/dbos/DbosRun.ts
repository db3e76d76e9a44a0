import { outcomeOf } from '../agent/runOutcome.ts'
import type { DurableChunk, DurableResult, DurableRun, RunInfo } from '../durable/runs.ts'
import { errorFrom } from '../messages/errors.ts'
import { isJsonObject } from '../messages/json.ts'
import { checkOptions, having, text } from '../messages/optionRules.ts'
import { pause } from './pause.ts'
import { readChunks } from './readChunks.ts'
import { damaged, isErrorData, type RunRow } from './runRow.ts'
import type { Service } from './Service.ts'

/** How long to wait before a result is looked for again. */
const lookMs = 100

/** A run on DBOS. */
export class DbosRun implements DurableRun {
  readonly id: string
  readonly agent: string
  readonly #service: Service

  constructor(service: Service, { id, agent }: Pick<RunRow, 'id' | 'agent'>) {
    this.#service = service
    this.id = id
    this.agent = agent
  }

  async info(): Promise<RunInfo> {
    this.#service.checkOpen()
    const { leg: _, ...info } = await this.#service.rows.known(this.id)
    return info
  }

  get result(): Promise<DurableResult> {
    return this.#result()
  }

  stream(
    options: { after?: string; signal?: AbortSignal } = {},
  ): AsyncIterableIterator<{ cursor: string; chunk: DurableChunk }> {
    return this.#stream(options)
  }

  async *#stream(options: {
    after?: string
    signal?: AbortSignal
  }): AsyncGenerator<{ cursor: string; chunk: DurableChunk }, void, undefined> {
    checkOptions<typeof options>('The options of stream', options, {
      after: text,
      signal: having('addEventListener'),
    })
    this.#service.checkOpen()
    const { after, signal } = options
    const end = signal ? AbortSignal.any([signal, this.#service.signal]) : this.#service.signal
    yield* readChunks(this.#service, this.id, after, end)
    // A reader that leaves knows it; one that is cut off must be notified.
    if (!signal?.aborted) this.#service.checkOpen()
  }

  async #result(): Promise<DurableResult> {
    const { rows, database, signal } = this.#service
    for (;;) {
      this.#service.checkOpen()
      const { status, result, error } = await database.insist(() => rows.resultOf(this.id), signal)
      if (status === 'waiting') return waitingResult(this.id, result)
      if (status === 'abandoned') throw isErrorData(error) ? errorFrom(error) : damaged(this.id)
      if (status !== 'running') return settledResult(this.id, result, error)
      await pause(lookMs, signal)
    }
  }
}

const waitingResult = (id: string, result: unknown): DurableResult => {
  if (!isJsonObject(result) || !isJsonObject(result.pendingApproval) || !Array.isArray(result.messages))
    throw damaged(id)
  return result as Partial<DurableResult> as DurableResult
}

const settledResult = (id: string, result: unknown, error: unknown): DurableResult => {
  const outcome = outcomeOf(result)
  // A workflow that was ended from outside left an error and no output.
  if (!outcome) throw isErrorData(error) ? errorFrom(error) : damaged(id)
  if ('error' in outcome) throw outcome.error()
  const { pendingApproval: _, ...whole } = outcome.result
  return whole
}
