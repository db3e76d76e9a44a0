import { messagesFrom } from '../durable/conversation.ts'
import { endResult, typedResult } from '../durable/outcome.ts'
import { checkStream, unknownRun } from '../durable/runOptions.ts'
import type { DurableChunk, DurableResult, DurableRun, RunInfo, WaitsFor } from '../durable/runs.ts'
import { ConfigurationError, errorFrom } from '../messages/errors.ts'
import { isJsonObject, type JsonValue } from '../messages/json.ts'
import type { CompiledSchema } from '../tools/schema.ts'
import { pause } from './Database.ts'
import { type StreamEntry, streamKey } from './dbosJournal.ts'
import { type Service, workflowOf } from './Service.ts'
import { damaged, isErrorData, pendingCalls, type RunRow } from './tables.ts'

/** Time between two looks for a result, or for a segment that has not begun. */
const lookMs = 100
/** Time between two looks for the end of a segment that has shown what it waits for. */
const settleMs = 10

/** The handle of a run on DBOS. */
export class PostgresRun<T = string> implements DurableRun<T> {
  readonly id: string
  readonly agent: string
  readonly #service: Service
  readonly #finish: (result: DurableResult) => Promise<DurableResult<T>>

  private constructor(
    service: Service,
    { id, agent }: Pick<RunRow, 'id' | 'agent'>,
    finish: (result: DurableResult) => Promise<DurableResult<T>>,
  ) {
    this.#service = service
    this.id = id
    this.agent = agent
    this.#finish = finish
  }

  /** The handle of a run whose result is a text. */
  static of(service: Service, run: Pick<RunRow, 'id' | 'agent'>): PostgresRun {
    return new PostgresRun(service, run, async (result) => result)
  }

  /** Returns the handle of the same run whose result is a value of a schema. */
  typed<V>(schema: CompiledSchema<V>): PostgresRun<V> {
    return new PostgresRun(this.#service, this, (result) => typedResult(result, schema))
  }

  async info(): Promise<RunInfo> {
    this.#service.checkOpen()
    const { rows } = this.#service
    const [info] = await rows.infosOf([await rows.known(this.id)])
    if (!info) throw unknownRun(this.id)
    return info
  }

  get result(): Promise<DurableResult<T>> {
    return this.#result().then(this.#finish)
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
    checkStream(options)
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
      // One that only sleeps has nothing to decide on.
      if (status === 'waiting' && result !== undefined) return waitingResult(this.id, result)
      if (status === 'abandoned') throw isErrorData(error) ? errorFrom(error) : damaged(this.id)
      if (status !== 'running' && status !== 'waiting') return settledResult(this.id, result, error)
      await pause(lookMs, signal)
    }
  }
}

const waitingResult = (id: string, result: unknown): DurableResult => {
  if (!isJsonObject(result) || !isJsonObject(result.pendingApproval) || !Array.isArray(result.messages))
    throw damaged(id)
  return { ...(result as Partial<DurableResult>), status: 'waiting' } as DurableResult
}

const settledResult = (id: string, result: unknown, error: unknown): DurableResult => {
  const whole = endResult(result)
  // A workflow that was ended from outside left an error and no output.
  if (!whole) throw isErrorData(error) ? errorFrom(error) : damaged(id)
  return whole
}

/** A place in the stream: the segment, the entry of its stream, and the chunk in the entry. */
type Place = { segment: number; entry: number; chunk: number }

const start: Place = { segment: 1, entry: 0, chunk: -1 }

/** Reads the chunks of a run after a cursor, through all its segments, until the run is over or waits. */
async function* readChunks(
  service: Service,
  id: string,
  after: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<{ cursor: string; chunk: DurableChunk }, void, undefined> {
  let { segment, entry, chunk: seen } = after === undefined ? start : placeOf(after)
  for (;;) {
    let last = ''
    for await (const { id: entryId, chunks } of entriesOf(service, workflowOf(id, segment), entry, signal)) {
      for (const [index, chunk] of entryId === last ? [] : chunks.entries()) {
        if (index <= seen) continue
        if (chunk.pendingApproval) await settled(service, id, segment, signal)
        yield { cursor: `${segment}.${entry}.${index}`, chunk }
        if (chunk.pendingApproval) return
      }
      last = entryId
      seen = -1
      entry += 1
    }
    if (signal.aborted) return
    const run = await service.database.insist(() => service.rows.known(id), signal)
    if (run.segment > segment) {
      segment += 1
      entry = 0
      seen = -1
    } else if (run.status !== 'running' && run.status !== 'waiting') return
    else await pause(lookMs, signal)
  }
}

/** Waits until a segment is over: what a run waits for is shown when it can be decided on. */
const settled = async (
  { database, rows }: Service,
  id: string,
  segment: number,
  signal: AbortSignal,
): Promise<void> => {
  while (!signal.aborted) {
    const run = await database.insist(() => rows.known(id), signal)
    if (run.segment > segment || run.status !== 'running') return
    await pause(settleMs, signal)
  }
}

const placeOf = (cursor: string): Place => {
  const [, segment, entry, chunk] = /^([1-9]\d{0,8})\.(\d{1,9})\.(\d{1,9})$/.exec(cursor) ?? []
  if (chunk === undefined) throw new ConfigurationError('`after` must be the cursor of a chunk of this run.')
  return { segment: Number(segment), entry: Number(entry), chunk: Number(chunk) }
}

/** Reads the entries of a segment's stream, until the segment is over; none if it has not begun. */
async function* entriesOf(
  { sdk, outside }: Service,
  workflow: string,
  offset: number,
  signal: AbortSignal,
): AsyncGenerator<StreamEntry, void, undefined> {
  const options = { offset, pollingIntervalMs: lookMs }
  const entries = outside(() => sdk.DBOS.readStream<unknown>(workflow, streamKey, options))
  let leave = () => {}
  const left = new Promise<'left'>((resolve) => {
    leave = () => resolve('left')
  })
  if (signal.aborted) leave()
  signal.addEventListener('abort', leave)
  try {
    for (;;) {
      const next = await Promise.race([outside(() => entries.next()), left])
      if (next === 'left' || next.done) return
      yield entryOf(next.value)
    }
  } catch (thrown) {
    if (!(thrown instanceof sdk.Error.DBOSNonExistentWorkflowError)) throw thrown
  } finally {
    signal.removeEventListener('abort', leave)
    void outside(() => entries.return()).catch(() => {})
  }
}

/** Reads what a segment has written by now. */
export async function* writtenChunks(
  { sdk, outside }: Service,
  run: string,
  segment: number,
): AsyncGenerator<DurableChunk, void, undefined> {
  const options = { timeoutSeconds: 0 }
  const entries = outside(() => sdk.DBOS.readStream<unknown>(workflowOf(run, segment), streamKey, options))
  try {
    for (;;) {
      const next = await outside(() => entries.next())
      if (next.done) return
      yield* entryOf(next.value).chunks
    }
  } catch (thrown) {
    const isEnd = sdk.Error.isStreamTimeoutError(thrown)
    if (!isEnd && !(thrown instanceof sdk.Error.DBOSNonExistentWorkflowError)) throw thrown
  }
}

const entryOf = (value: unknown): StreamEntry => {
  const { id, chunks } = isJsonObject(value) ? value : {}
  return {
    id: typeof id === 'string' ? id : '',
    chunks: Array.isArray(chunks) ? chunks.flatMap(chunkOf) : [],
  }
}

/** Reads a chunk. Another program may have changed it: what is not a message or a call is left out. */
const chunkOf = (value: JsonValue): DurableChunk[] => {
  if (!isChunk(value)) return []
  const { pendingApproval: given, ...chunk }: DurableChunk = value
  const [first, ...others] = pendingCalls(Object(given).calls)
  const pendingApproval: WaitsFor | undefined = first && { calls: [first, ...others] }
  return [{ ...chunk, messages: messagesFrom(chunk.messages), ...(pendingApproval && { pendingApproval }) }]
}

const isChunk = (value: JsonValue): value is DurableChunk & JsonValue =>
  isJsonObject(value) &&
  typeof value.id === 'string' &&
  typeof value.output === 'string' &&
  typeof value.finishReason === 'string' &&
  Array.isArray(value.messages) &&
  isJsonObject(value.metadata)
