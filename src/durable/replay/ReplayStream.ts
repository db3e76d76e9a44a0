import { AsyncLocalStorage } from 'node:async_hooks'
import { restartChunk } from '../chunks.ts'
import type { DurableChunk } from '../runs.ts'
import type { ReplayEngine } from './engine.ts'

/**
 * The stream of a run. The text of an answer is written while it comes, inside of the step that asks for it; a replay
 * shows it again and writes nothing. Everything else is written outside of steps, once.
 */
export class ReplayStream {
  readonly #write: ReplayEngine['write']
  readonly #onBroken: (error: unknown) => void
  /** Says whether an earlier incarnation may have shown text that is no longer valid. */
  #isTextInDoubt: boolean
  /** The text since the last message. */
  #openText: DurableChunk[] = []
  /** The target of chunks at this moment; undefined: they are written once. */
  #reading: { show(chunk: DurableChunk): void } | undefined
  /** Chunks that are written once, and have no place in the journal yet. */
  #held: DurableChunk[] = []
  #written: Promise<void> = Promise.resolve()

  constructor(write: ReplayEngine['write'], isTextInDoubt: boolean, onBroken: (error: unknown) => void) {
    this.#write = write
    this.#isTextInDoubt = isTextInDoubt
    this.#onBroken = onBroken
  }

  /** Says whether readers may have to discard text before the next answer. */
  get isTextInDoubt(): boolean {
    return this.#isTextInDoubt
  }

  /** Takes a chunk of the run. */
  show(chunk: DurableChunk): void {
    if (chunk.messages.length > 0 || chunk.metadata.restart === true) this.#openText = []
    if (chunk.messages.length === 0) this.#openText.push(chunk)
    if (this.#reading) this.#reading.show(chunk)
    else this.#held.push(chunk)
  }

  /**
   * Writes what the run has shown since its last action. Call it before the next one, which has its place in the journal after
   * it; not before the end of a run is certain.
   */
  flush(): void {
    const held = this.#held
    this.#held = []
    for (const chunk of held) this.#once(chunk)
  }

  /** Plays reads that were recorded: their chunks are in the stream. */
  replayed(read: () => void): void {
    this.#read({ show: () => {} }, read)
  }

  /** Writes the rest, and resolves when it is there. */
  settled(): Promise<void> {
    this.flush()
    return this.#written
  }

  /**
   * Begins an answer: call it inside of its step. One that readers do not see, such as that of a background agent, leaves it to
   * the next one to discard text: an answer may be complete and not be taken yet.
   */
  async live(isShown: boolean): Promise<LiveAnswer> {
    // What came before the answer is before it in the stream, too.
    await this.#written
    const answer = new LiveAnswer((chunks) => this.#write(chunks, true))
    if (!isShown) return answer
    if (this.#isTextInDoubt) for (const chunk of this.#restart()) answer.show(chunk)
    this.#isTextInDoubt = false
    return answer
  }

  /** Plays a read of an answer that is coming in. */
  read(answer: LiveAnswer, read: () => void): void {
    this.#read(answer, read)
  }

  #read(reading: { show(chunk: DurableChunk): void }, read: () => void): void {
    const before = this.#reading
    this.#reading = reading
    try {
      read()
    } finally {
      this.#reading = before
    }
  }

  /** Makes readers discard what an earlier incarnation showed of this answer; valid text from before it is shown once more. */
  #restart(): DurableChunk[] {
    return [restartChunk(), ...this.#openText]
  }

  #once(chunk: DurableChunk): void {
    const write = this.#write([chunk], false)
    this.#written = Promise.all([this.#written, write]).then(() => {})
    this.#written.catch(this.#onBroken)
  }
}

/** Time for which chunks are gathered before they are written. */
const gatherMs = 20

/** The chunks of one answer, on their way to the stream. */
class LiveAnswer {
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

  /** Resolves when everything is written. */
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

  /** Writes all that has come by then: a slow store gets larger batches. */
  async #next(): Promise<void> {
    const chunks = this.#chunks
    this.#chunks = []
    if (chunks.length > 0) await this.#here(() => this.#write(chunks))
  }
}
