import { ConfigurationError } from '../messages/errors.ts'
import { isJsonObject } from '../messages/json.ts'
import { chunkFrom, type PlacedChunk } from './ChunkLog.ts'
import { cursorOf, readCursor } from './cursor.ts'
import type { Keeper } from './Keeper.ts'
import { restart } from './runChunks.ts'
import type { DurableChunk } from './runs.ts'
import { type ItemSource, itemFrom } from './sqlite/Items.ts'
import type { RunSummary } from './sqlite/RunRows.ts'
import type { StreamBatch, StreamPosition } from './sqlite/StreamRows.ts'

type Shown = { cursor: string; chunk: DurableChunk }

/**
 * One reader of a stored stream. It holds a position and no chunks: those it has not read yet are in the store, or with
 * the run, if it runs in this process.
 */
export class StreamReader {
  readonly #keeper: Keeper
  readonly #run: RunSummary
  readonly #items: ItemSource
  #batch: StreamBatch | undefined
  #seq = 0

  constructor(keeper: Keeper, run: RunSummary) {
    this.#keeper = keeper
    this.#run = run
    const { items } = keeper.store
    this.#items = {
      at: (thread, index) => itemFrom(items.find(run.n, run.base, Number(thread), Number(index))),
    }
  }

  async *read(after: string | undefined, signal: AbortSignal): AsyncGenerator<Shown, undefined> {
    if (after !== undefined) {
      const start = this.#startAfter(readCursor(after))
      this.#seq = start.seq
      if (start.isLost) yield { cursor: cursorOf(start), chunk: restart() }
    }
    while (!signal.aborted) {
      const next = this.#next()
      if (next) {
        this.#seq = next.seq
        yield { cursor: cursorOf(next), chunk: next.chunk }
        if (next.chunk.pendingApproval) return
      } else if (!this.#isOver()) await this.#keeper.chunks.next(this.#run.n, signal)
      // The last chunks may have been stored since.
      else if (!this.#next()) return
    }
  }

  #isOver(): boolean {
    const run = this.#keeper.store.runs.summary(this.#run.id)
    if (!run || run.n !== this.#run.n)
      throw new ConfigurationError(`The run "${this.#run.id}" has been deleted.`)
    const failure = this.#keeper.whyNot(run)
    if (failure && run.live) throw failure
    return run.status !== 'waiting' && !run.live
  }

  #next(): PlacedChunk | undefined {
    const { n } = this.#run
    const recent = this.#keeper.live(n)?.chunkAfter(this.#seq)
    if (recent) return recent
    if (!this.#batch || this.#batch.seq <= this.#seq)
      this.#batch = this.#keeper.store.stream.after(n, this.#seq)
    if (!this.#batch) return undefined
    const { seq, life, chunks } = this.#batch
    const stored = chunks[chunks.length - 1 - (seq - this.#seq - 1)]
    return { seq: this.#seq + 1, life, chunk: chunkFrom(stored, this.#items) }
  }

  /**
   * Where a reader continues. What it saw may never have been stored, because the process that showed it died, or is
   * not stored yet: then it goes back to the last message, and discards what it has seen since.
   */
  #startAfter({ life, seq }: StreamPosition): StreamPosition & { isLost: boolean } {
    const { store } = this.#keeper
    const { n } = this.#run
    const recent = this.#keeper.live(n)?.chunkAfter(seq - 1)
    const found = seq === 0 ? { life } : (recent ?? store.stream.after(n, seq - 1))
    if (found?.life === life) return { life, seq, isLost: false }
    return { ...this.#lastMessage(store.stream.lastOf(n, life)), isLost: true }
  }

  /** The last chunk up to here that a text begins after: a message, or a restart. */
  #lastMessage(last: StreamPosition): StreamPosition {
    const { stream } = this.#keeper.store
    for (let end = last.seq; end > 0; ) {
      const batch = stream.after(this.#run.n, end - 1)
      if (!batch) break
      const index = batch.chunks.findLastIndex(beginsText)
      const seq = batch.seq - (batch.chunks.length - 1 - index)
      if (index >= 0) return { life: batch.life, seq }
      end = batch.seq - batch.chunks.length
    }
    return { life: 0, seq: 0 }
  }
}

/** Of a chunk as it is stored. */
const beginsText = (chunk: unknown): boolean =>
  isJsonObject(chunk) &&
  ('messages' in chunk ||
    'pendingApproval' in chunk ||
    (isJsonObject(chunk.metadata) && chunk.metadata.restart === true))

/** The chunks after a cursor. Leaving the loop cleans up, and the run continues. */
export const readStream = (
  keeper: Keeper,
  run: RunSummary,
  { after, signal }: { after?: string; signal?: AbortSignal } = {},
): AsyncIterableIterator<Shown> => {
  const left = new AbortController()
  const chunks = new StreamReader(keeper, run).read(
    after,
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
