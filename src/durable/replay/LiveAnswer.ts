import { AsyncLocalStorage } from 'node:async_hooks'
import type { DurableChunk } from '../runs.ts'

/** How long chunks are gathered before they are written. */
const gatherMs = 20

/** The chunks of one answer, on their way to the stream. */
export class LiveAnswer {
  readonly #write: (chunks: DurableChunk[]) => Promise<void>
  /** A socket calls back in the context in which it was opened; writes belong to the step that this was made in. */
  readonly #here = AsyncLocalStorage.snapshot()
  #chunks: DurableChunk[] = []
  #timer: NodeJS.Timeout | undefined
  #written: Promise<void> = Promise.resolve()
  /** Rejects as soon as a write fails: another process has the run. */
  readonly failed: Promise<never>
  #fail: (error: unknown) => void = () => {}

  constructor(write: (chunks: DurableChunk[]) => Promise<void>) {
    this.#write = write
    this.failed = new Promise((_, reject) => {
      this.#fail = reject
    })
    this.failed.catch(() => {})
  }

  show(chunk: DurableChunk): void {
    this.#chunks.push(chunk)
    this.#timer ??= setTimeout(() => this.#flush(), gatherMs)
  }

  /** Everything is written. */
  async end(): Promise<void> {
    this.#flush()
    await this.#written
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#chunks.length === 0) return
    this.#written = this.#written.then(() => this.#next())
    this.#written.catch(this.#fail)
  }

  /** Takes all that has come by then: a slow store gets larger batches. */
  async #next(): Promise<void> {
    const chunks = this.#chunks
    this.#chunks = []
    if (chunks.length > 0) await this.#here(() => this.#write(chunks))
  }
}
