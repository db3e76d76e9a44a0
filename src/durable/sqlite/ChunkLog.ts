import { isJsonObject, type JsonObject } from '../../messages/json.ts'
import { chunkWith } from '../chunks.ts'
import type { DurableChunk } from '../runs.ts'
import type { ItemSource, Items } from './Items.ts'
import { pack, unpack } from './pack.ts'
import { jsonIn, numberIn, type Row, type SqliteFile } from './SqliteFile.ts'
import { damaged } from './storeErrors.ts'

/** A place in a stream: the number of a chunk, and the incarnation of the run that showed it. */
export type StreamPosition = { incarnation: number; seq: number }

/** The end of a stream, and what a reader of all of it has got. */
export type StreamTail = StreamPosition & {
  /** Messages shown so far. */
  delivered: number
  /** Says whether text was shown since the last of them. */
  isOpen: boolean
}

/** Chunks that were stored together, packed; `seq` is the number of the last one. */
export type StreamBatch = StreamPosition & { chunks: unknown[] }

/** The table of streams. */
export class StreamRows {
  readonly #file: SqliteFile

  constructor(file: SqliteFile) {
    this.#file = file
  }

  /** Stores a batch; `chunks` is a JSON list. */
  insert(run: number, { seq, incarnation, delivered, isOpen }: StreamTail, chunks: string): void {
    this.#file.run(
      'INSERT INTO stream (run, seq, life, told, open, chunks) VALUES (?, ?, ?, ?, ?, ?)',
      run,
      seq,
      incarnation,
      delivered,
      isOpen ? 1 : 0,
      chunks,
    )
  }

  tail(run: number): StreamTail {
    const row = this.#file.get(
      'SELECT seq, life, told, open FROM stream WHERE run = ? ORDER BY seq DESC LIMIT 1',
      run,
    )
    if (!row) return { seq: 0, incarnation: 0, delivered: 0, isOpen: false }
    return { ...positionOf(row), delivered: numberIn(row, 'told'), isOpen: numberIn(row, 'open') === 1 }
  }

  /** Finds the batch with the chunk after this one. */
  after(run: number, seq: number): StreamBatch | undefined {
    const row = this.#file.get(
      'SELECT seq, life, chunks FROM stream WHERE run = ? AND seq > ? ORDER BY seq LIMIT 1',
      run,
      seq,
    )
    if (!row) return undefined
    const chunks = jsonIn(row, 'chunks')
    if (!Array.isArray(chunks)) throw damaged('a batch of chunks is not a list')
    return { ...positionOf(row), chunks }
  }

  /** Finds the last chunk that was stored in an incarnation or before it. */
  lastOf(run: number, incarnation: number): StreamPosition {
    const row = this.#file.get(
      'SELECT seq, life FROM stream WHERE run = ? AND life <= ? ORDER BY seq DESC LIMIT 1',
      run,
      incarnation,
    )
    return row ? positionOf(row) : { incarnation: 0, seq: 0 }
  }
}

const positionOf = (row: Row): StreamPosition => ({
  seq: numberIn(row, 'seq'),
  incarnation: numberIn(row, 'life'),
})

/** A chunk and its place in the stream. */
export type PlacedChunk = StreamPosition & { chunk: DurableChunk }

/** Chunks kept in memory: readers that are not further behind need not ask the store. */
const recentChunks = 256

/**
 * The end of the stream of a run that is under way: chunks that are not stored yet, and a few that are. Text is shown
 * at once. A message is shown when it is stored, and so is what follows it: a message that a reader has seen is never
 * taken back.
 */
export class ChunkLog {
  readonly #items: Items
  #tail: StreamTail
  #unstored: string[] = []
  #recent: PlacedChunk[] = []
  #visible: number
  #mustStore = false

  constructor(items: Items, tail: StreamTail, incarnation: number) {
    this.#items = items
    this.#tail = { ...tail, incarnation }
    this.#visible = tail.seq
  }

  /** Messages shown so far. */
  get delivered(): number {
    return this.#tail.delivered
  }

  get isStored(): boolean {
    return this.#unstored.length === 0
  }

  /** Says whether readers must not see the last chunks before they are stored. */
  get mustStore(): boolean {
    return this.#mustStore
  }

  push(chunk: DurableChunk): void {
    const { seq, incarnation, delivered, isOpen } = this.#tail
    const isMessage = chunk.messages.length > 0
    const isEnd = chunk.finishReason !== 'unspecified'
    this.#tail = {
      seq: seq + 1,
      incarnation,
      delivered: delivered + chunk.messages.length,
      isOpen: isMessage || isEnd || chunk.metadata.restart === true ? false : isOpen || brings(chunk),
    }
    // Readers may change the chunk that they get, so it is written down first.
    this.#unstored.push(pack(slim(chunk), this.#items))
    this.#recent.push({ seq: seq + 1, incarnation, chunk })
    if (this.#recent.length > 2 * recentChunks) this.#recent = this.#recent.slice(-recentChunks)
    this.#mustStore ||= isMessage || isEnd
    if (!this.#mustStore) this.#visible = seq + 1
  }

  /** Writes what is not stored yet, inside a transaction. Call `stored` once that is committed. */
  writeTo(stream: StreamRows, run: number): void {
    if (this.#unstored.length > 0) stream.insert(run, this.#tail, `[${this.#unstored.join(',')}]`)
  }

  stored(): void {
    this.#unstored = []
    this.#mustStore = false
    this.#visible = this.#tail.seq
  }

  /** Finds the chunk after this one, if it is among the last ones. */
  after(seq: number): PlacedChunk | undefined {
    const first = this.#recent[0]
    const next = first && seq < this.#visible ? this.#recent[seq + 1 - first.seq] : undefined
    return next && { ...next, chunk: structuredClone(next.chunk) }
  }
}

const brings = ({ output, metadata }: DurableChunk): boolean =>
  output !== '' || Object.keys(metadata).length > 0

const emptyChunk = chunkWith({})

/** Leaves out the fields that are as in an empty chunk: most chunks are a few letters. */
const slim = (chunk: DurableChunk): JsonObject =>
  Object.fromEntries(
    Object.entries(chunk).filter(([key, value]) => {
      const usual: unknown = Reflect.get(emptyChunk, key)
      // A list or an object of an empty chunk is empty: a message need not be written out to be compared with it.
      return typeof value === 'object' && typeof usual === 'object'
        ? Object.keys(Object(value)).length > 0
        : value !== usual
    }),
  )

/** Reads a stored chunk. */
export const chunkFrom = (stored: unknown, items: ItemSource): DurableChunk => {
  const chunk = unpack(JSON.stringify(stored), items)
  if (!isJsonObject(chunk)) throw damaged('a chunk is not an object')
  return chunkWith(chunk as Partial<DurableChunk>)
}
