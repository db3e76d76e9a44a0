import { jsonIn, numberIn, type Row, type SqliteFile } from './SqliteFile.ts'
import { damaged } from './storeError.ts'

/** A place in a stream: the number of a chunk, and the life of the run that showed it. */
export type StreamPosition = { life: number; seq: number }

/** Where a stream ends, and what a reader of all of it knows. */
export type StreamTail = StreamPosition & {
  /** Messages shown. */
  told: number
  /** Text was shown since the last of them. */
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

  /** `chunks`: a JSON list. */
  insert(run: number, { seq, life, told, isOpen }: StreamTail, chunks: string): void {
    this.#file.run(
      'INSERT INTO stream (run, seq, life, told, open, chunks) VALUES (?, ?, ?, ?, ?, ?)',
      run,
      seq,
      life,
      told,
      isOpen ? 1 : 0,
      chunks,
    )
  }

  tail(run: number): StreamTail {
    const row = this.#file.get(
      'SELECT seq, life, told, open FROM stream WHERE run = ? ORDER BY seq DESC LIMIT 1',
      run,
    )
    if (!row) return { seq: 0, life: 0, told: 0, isOpen: false }
    return { ...positionOf(row), told: numberIn(row, 'told'), isOpen: numberIn(row, 'open') === 1 }
  }

  /** The batch that has the next chunk after this one. */
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

  /** The last chunk that was stored in a life or before it. */
  lastOf(run: number, life: number): StreamPosition {
    const row = this.#file.get(
      'SELECT seq, life FROM stream WHERE run = ? AND life <= ? ORDER BY seq DESC LIMIT 1',
      run,
      life,
    )
    return row ? positionOf(row) : { life: 0, seq: 0 }
  }
}

const positionOf = (row: Row): StreamPosition => ({ seq: numberIn(row, 'seq'), life: numberIn(row, 'life') })
