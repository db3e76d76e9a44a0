import { ConfigurationError, errorFrom, OrchestrationError } from '../../messages/errors.ts'
import { isJsonObject } from '../../messages/json.ts'
import { waitReason } from '../../messages/result.ts'
import type { CompiledSchema } from '../../tools/schema.ts'
import { restartChunk } from '../chunks.ts'
import { endResult, partialResult, typedResult } from '../outcome.ts'
import { checkStream, unknownRun } from '../runOptions.ts'
import type { DurableChunk, DurableResult, DurableRun, RunInfo, WaitsFor } from '../runs.ts'
import { chunkFrom, type PlacedChunk, type StreamBatch, type StreamPosition } from './ChunkLog.ts'
import { type ItemSource, itemFrom } from './Items.ts'
import { hostedFrom } from './pack.ts'
import type { RunOwner } from './RunOwner.ts'
import type { RunRow, RunSummary } from './runRow.ts'
import type { OpenStore } from './sqlite.ts'
import { whenFree } from './whenFree.ts'

/** The handle of a stored run. */
export class SqliteRun<T = string> implements DurableRun<T> {
  readonly id: string
  readonly agent: string
  readonly #owner: RunOwner
  readonly #run: RunSummary
  readonly #finish: (result: DurableResult) => Promise<DurableResult<T>>

  private constructor(
    owner: RunOwner,
    run: RunSummary,
    finish: (result: DurableResult) => Promise<DurableResult<T>>,
  ) {
    this.id = run.id
    this.agent = run.agent
    this.#owner = owner
    this.#run = run
    this.#finish = finish
  }

  /** The handle of a run whose result is a text. */
  static of(owner: RunOwner, run: RunSummary): SqliteRun {
    return new SqliteRun(owner, run, async (result) => result)
  }

  /** Returns the handle of the same run whose result is a value of a schema. */
  typed<V>(schema: CompiledSchema<V>): SqliteRun<V> {
    return new SqliteRun(this.#owner, this.#run, (result) => typedResult(result, schema))
  }

  async info(): Promise<RunInfo> {
    const [info] = await whenFree(() => this.#owner.infosOf([this.#now()]))
    if (!info) throw unknownRun(this.id)
    return info
  }

  get result(): Promise<DurableResult<T>> {
    return this.#result().then(this.#finish)
  }

  stream(
    options: { after?: string; signal?: AbortSignal } = {},
  ): AsyncIterableIterator<{ cursor: string; chunk: DurableChunk }> {
    return readStream(this.#owner, this.#run, options)
  }

  async #result(): Promise<DurableResult> {
    for (;;) {
      const { result, change } = await whenFree(() => {
        const found = this.#resultNow()
        // Waited for from this look on: a change that comes right after it must not be missed.
        return found ? { result: found } : { change: this.#owner.statuses.next(this.#run.n) }
      })
      if (result) return result
      await change
    }
  }

  /** The result of the run if it waits or is over. Throws its error. */
  #resultNow(): DurableResult | undefined {
    const { runs, commands } = this.#owner.store
    const { n } = this.#run
    const now = this.#now()
    // A run with a fresh decision is about to continue, and one that only sleeps continues by itself.
    const isResting =
      now.status === 'waiting'
        ? !now.isUnsettled && now.pending.length > 0 && commands.of(n).length === 0
        : now.status !== 'running'
    const row = isResting ? runs.byNumber(n) : undefined
    if (row) return storedResult(this.#owner.store, row)
    const failure = this.#owner.failureOf(now)
    if (failure) throw failure
    return undefined
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
  const pendingApproval: WaitsFor = { calls: [first, ...rest] }
  return { ...partial, status: 'waiting', finishReason: waitReason(run.pending), pendingApproval }
}

type Shown = { cursor: string; chunk: DurableChunk }

type StreamOptions = NonNullable<Parameters<DurableRun['stream']>[0]>

/** Reads the chunks after a cursor. Leaving the loop cleans up, and the run continues. */
const readStream = (
  owner: RunOwner,
  run: RunSummary,
  options: StreamOptions,
): AsyncIterableIterator<Shown> => {
  const left = new AbortController()
  const { signal } = options
  const chunks = new StreamReader(owner, run).read(
    options,
    signal ? AbortSignal.any([left.signal, signal]) : left.signal,
  )
  return {
    next: () => chunks.next(),
    return: () => {
      // A generator that waits for a chunk cannot be left: it is woken.
      left.abort()
      return chunks.return(undefined)
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/**
 * A reader of a stored stream. It holds a position and no chunks: those it has not read yet are in the store, or with
 * the run, if it runs in this process.
 */
class StreamReader {
  readonly #owner: RunOwner
  readonly #run: RunSummary
  readonly #items: ItemSource
  #batch: StreamBatch | undefined
  /** The place of the last chunk that it has shown. */
  #seq = 0
  #incarnation = 0
  /** The newest incarnation that it knows of. */
  #newest = 0

  constructor(owner: RunOwner, run: RunSummary) {
    this.#owner = owner
    this.#run = run
    const { items } = owner.store
    this.#items = {
      at: (thread, index) => itemFrom(items.find(run.n, run.base, Number(thread), Number(index))),
    }
  }

  async *read(options: StreamOptions, signal: AbortSignal): AsyncGenerator<Shown, undefined> {
    checkStream(options)
    const { after } = options
    let isBegin = true
    if (after !== undefined) {
      const { start, last } = await whenFree(() => this.#continueAfter(readCursor(after)))
      if (start.isLost) yield { cursor: cursorOf(start), chunk: restartChunk() }
      else isBegin = !last || endsText(last.chunk)
    }
    while (!signal.aborted) {
      const { start, next, change } = await whenFree(() => this.#look(isBegin, signal))
      isBegin = false
      if (start) {
        this.#moveTo(start)
        isBegin = true
        yield { cursor: cursorOf(start), chunk: restartChunk() }
      } else if (next) {
        this.#moveTo(next)
        isBegin = endsText(next.chunk)
        yield { cursor: cursorOf(next), chunk: next.chunk }
        if (next.chunk.pendingApproval) return
      } else if (change) await change
      else return
    }
  }

  /** Moves to where a reader with a cursor continues; `last` is what it has seen there. */
  #continueAfter(cursor: StreamPosition): {
    start: StreamPosition & { isLost: boolean }
    last: PlacedChunk | undefined
  } {
    const start = this.#startAfter(cursor)
    this.#seq = start.seq - 1
    const last = start.seq === 0 ? undefined : this.#next()
    this.#moveTo(start)
    return { start, last }
  }

  /** Looks for the next chunk, or for where the reader starts over; nothing of it at the end of the run. */
  #look(
    isBegin: boolean,
    signal: AbortSignal,
  ): { start?: StreamPosition | undefined; next?: PlacedChunk | undefined; change?: Promise<void> } {
    if (isBegin) this.#skipDiscarded()
    const next = this.#next()
    const start = this.#lostAt(next)
    if (start || next) return { start, next }
    // Waited for from this look on: a chunk that comes right after it must not be missed.
    if (!this.#isOver()) return { change: this.#owner.chunks.next(this.#run.n, signal) }
    // The last chunks may have been stored since.
    return this.#next() ? this.#look(false, signal) : {}
  }

  /** Skips text that was discarded since: a reader that has not seen it does not need it. */
  #skipDiscarded(): void {
    const { stream } = this.#owner.store
    for (let seq = this.#seq; ; ) {
      const batch = stream.after(this.#run.n, seq)
      if (!batch) return
      for (const chunk of batch.chunks.slice(seq - batch.seq)) {
        seq += 1
        if (isRestart(chunk)) this.#moveTo({ incarnation: batch.incarnation, seq })
        else if (beginsText(chunk)) return
      }
    }
  }

  #moveTo({ incarnation, seq }: StreamPosition): void {
    this.#incarnation = incarnation
    this.#seq = seq
  }

  /**
   * Finds where a reader starts over whose last chunks were never stored: the run was taken away from this process after it
   * had shown them, or the store failed. Undefined if it just reads on.
   */
  #lostAt(next: PlacedChunk | undefined): StreamPosition | undefined {
    const { store } = this.#owner
    const { n } = this.#run
    this.#newest = Math.max(this.#newest, next?.incarnation ?? store.runs.incarnation(n) ?? 0)
    if (this.#seq === 0 || this.#newest <= this.#incarnation) return undefined
    if (store.stream.after(n, this.#seq - 1)?.incarnation === this.#incarnation) return undefined
    this.#batch = undefined
    return this.#lastMessage(store.stream.lastOf(n, this.#incarnation))
  }

  #isOver(): boolean {
    const run = this.#owner.store.runs.summary(this.#run.id)
    if (!run || run.n !== this.#run.n)
      throw new ConfigurationError(`The run "${this.#run.id}" has been deleted.`)
    const failure = this.#owner.failureOf(run)
    if (failure && run.isUnsettled) throw failure
    return run.status !== 'waiting' && !run.isUnsettled
  }

  #next(): PlacedChunk | undefined {
    const { n } = this.#run
    const recent = this.#owner.hosted(n)?.chunkAfter(this.#seq)
    // A process that has lost the run and does not know it yet still has chunks of its own.
    if (recent && recent.incarnation >= this.#newest) return recent
    if (!this.#batch || this.#batch.seq <= this.#seq)
      this.#batch = this.#owner.store.stream.after(n, this.#seq)
    if (!this.#batch) return undefined
    const { seq, incarnation, chunks } = this.#batch
    const stored = chunks[chunks.length - 1 - (seq - this.#seq - 1)]
    return { seq: this.#seq + 1, incarnation, chunk: chunkFrom(stored, this.#items) }
  }

  /**
   * Finds where a reader continues. The text that it saw may never have been stored, because the process that showed it
   * died, or is not stored yet: then the reader goes back to the last message, and discards what it has seen since.
   */
  #startAfter({ incarnation, seq }: StreamPosition): StreamPosition & { isLost: boolean } {
    const { store } = this.#owner
    const { n } = this.#run
    const recent = this.#owner.hosted(n)?.chunkAfter(seq - 1)
    const found = seq === 0 ? { incarnation } : (recent ?? store.stream.after(n, seq - 1))
    if (found?.incarnation === incarnation) return { incarnation, seq, isLost: false }
    return { ...this.#lastMessage(store.stream.lastOf(n, incarnation)), isLost: true }
  }

  /** Finds the last chunk up to here that a text begins after: a message, or a restart. */
  #lastMessage(last: StreamPosition): StreamPosition {
    const { stream } = this.#owner.store
    for (let end = last.seq; end > 0; ) {
      const batch = stream.after(this.#run.n, end - 1)
      if (!batch) break
      const index = batch.chunks.findLastIndex(beginsText)
      const seq = batch.seq - (batch.chunks.length - 1 - index)
      if (index >= 0) return { incarnation: batch.incarnation, seq }
      end = batch.seq - batch.chunks.length
    }
    return { incarnation: 0, seq: 0 }
  }
}

/** Recognises a chunk that a text begins after. */
const endsText = ({ messages, metadata, pendingApproval }: DurableChunk): boolean =>
  messages.length > 0 || metadata.restart === true || pendingApproval !== undefined

/** Recognises a stored chunk that a text begins after: it has no empty fields. */
const beginsText = (chunk: unknown): boolean =>
  isJsonObject(chunk) && ('messages' in chunk || 'pendingApproval' in chunk || isRestart(chunk))

const isRestart = (chunk: unknown): boolean =>
  isJsonObject(chunk) && isJsonObject(chunk.metadata) && chunk.metadata.restart === true

/** Writes the place of a chunk as readers keep it. */
export const cursorOf = ({ incarnation, seq }: StreamPosition): string => `${incarnation}.${seq}`

/** Reads the place that a reader has kept. It may come from anywhere. */
export const readCursor = (cursor: unknown): StreamPosition => {
  const [, incarnation, seq] = (typeof cursor === 'string' && /^(\d{1,9})\.(\d{1,15})$/.exec(cursor)) || []
  if (incarnation === undefined || seq === undefined)
    throw new ConfigurationError('after must be the cursor of a chunk of stream(), such as "1.42".')
  return { incarnation: Number(incarnation), seq: Number(seq) }
}
