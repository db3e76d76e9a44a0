import { isJsonObject, type JsonObject } from '../messages/json.ts'
import type { DurableChunk } from './runs.ts'
import type { ItemSource, Items } from './sqlite/Items.ts'
import { pack, unpack } from './sqlite/pack.ts'
import type { StreamPosition, StreamRows, StreamTail } from './sqlite/StreamRows.ts'
import { damaged } from './sqlite/storeError.ts'

/** A chunk and its place in the stream. */
export type PlacedChunk = StreamPosition & { chunk: DurableChunk }

/** Readers that are not further behind than this need not ask the store. */
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

  constructor(items: Items, tail: StreamTail, life: number) {
    this.#items = items
    this.#tail = { ...tail, life }
    this.#visible = tail.seq
  }

  /** Messages shown so far. */
  get told(): number {
    return this.#tail.told
  }

  get isStored(): boolean {
    return this.#unstored.length === 0
  }

  /** Readers do not see the last chunks before they are stored. */
  get mustStore(): boolean {
    return this.#mustStore
  }

  push(chunk: DurableChunk): void {
    const { seq, life, told, isOpen } = this.#tail
    const isMessage = chunk.messages.length > 0
    const isEnd = chunk.finishReason !== 'unspecified'
    this.#tail = {
      seq: seq + 1,
      life,
      told: told + chunk.messages.length,
      isOpen: isMessage || isEnd || chunk.metadata.restart === true ? false : isOpen || brings(chunk),
    }
    // What is shown is the reader's to change: what is stored is written down first.
    this.#unstored.push(pack(slim(chunk), this.#items))
    this.#recent.push({ seq: seq + 1, life, chunk })
    if (this.#recent.length > 2 * recentChunks) this.#recent = this.#recent.slice(-recentChunks)
    this.#mustStore ||= isMessage || isEnd
    if (!this.#mustStore) this.#visible = seq + 1
  }

  /** Writes down what is not stored yet, inside a transaction. It counts as stored once `stored` was called. */
  writeTo(stream: StreamRows, run: number): void {
    if (this.#unstored.length > 0) stream.insert(run, this.#tail, `[${this.#unstored.join(',')}]`)
  }

  stored(): void {
    this.#unstored = []
    this.#mustStore = false
    this.#visible = this.#tail.seq
  }

  /** The chunk after this one, if it is among the last ones. */
  after(seq: number): PlacedChunk | undefined {
    const first = this.#recent[0]
    const next = first && seq < this.#visible ? this.#recent[seq + 1 - first.seq] : undefined
    return next && { ...next, chunk: structuredClone(next.chunk) }
  }
}

const brings = ({ output, metadata }: DurableChunk): boolean =>
  output !== '' || Object.keys(metadata).length > 0

/** Most chunks are a few letters: what is as in all others is not written down. */
const plain: DurableChunk = { id: '', output: '', messages: [], finishReason: 'unspecified', metadata: {} }

const slim = (chunk: DurableChunk): JsonObject =>
  Object.fromEntries(
    Object.entries(chunk).filter(([key, value]) => {
      const usual: unknown = Reflect.get(plain, key)
      return typeof value === 'object' ? JSON.stringify(value) !== JSON.stringify(usual) : value !== usual
    }),
  )

/** The chunk that was stored. */
export const chunkFrom = (stored: unknown, items: ItemSource): DurableChunk => {
  const chunk = unpack(JSON.stringify(stored), items)
  if (!isJsonObject(chunk)) throw damaged('a chunk is none')
  return { ...structuredClone(plain), ...(chunk as Partial<DurableChunk>) }
}
