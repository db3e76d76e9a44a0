import { restart } from '../runChunks.ts'
import type { DurableChunk } from '../runs.ts'
import { LiveAnswer } from './LiveAnswer.ts'
import type { ReplayEngine } from './replay.ts'

/**
 * What of a run goes to its stream. The text of an answer is written while it comes, inside of the step that asks for it; a
 * replay shows it again and writes nothing. Everything else is written outside of steps, once.
 */
export class ReplayStream {
  readonly #write: ReplayEngine['write']
  readonly #broken: (error: unknown) => void
  /** Whether an earlier life may have shown text that is no longer valid. */
  #isTextInDoubt: boolean
  /** The text since the last message. */
  #standing: DurableChunk[] = []
  /** Where chunks go at this moment; undefined: they are written once. */
  #reading: { show(chunk: DurableChunk): void } | undefined
  #written: Promise<void> = Promise.resolve()

  constructor(write: ReplayEngine['write'], isFirstLife: boolean, broken: (error: unknown) => void) {
    this.#write = write
    this.#isTextInDoubt = !isFirstLife
    this.#broken = broken
  }

  /** A chunk of the run. */
  show(chunk: DurableChunk): void {
    if (chunk.messages.length > 0 || chunk.metadata.restart === true) this.#standing = []
    if (chunk.messages.length === 0) this.#standing.push(chunk)
    if (this.#reading) this.#reading.show(chunk)
    else this.#once(chunk)
  }

  /** Reads that were recorded: their chunks are in the stream. */
  replayed(read: () => void): void {
    this.#read({ show: () => {} }, read)
  }

  /** All that is to be written once is there. */
  settled(): Promise<void> {
    return this.#written
  }

  /** Begins an answer: call it inside of its step. */
  async live(): Promise<LiveAnswer> {
    // What came before the answer is before it in the stream, too.
    await this.#written
    const answer = new LiveAnswer((chunks) => this.#write(chunks, true))
    if (this.#isTextInDoubt) for (const chunk of this.#restart()) answer.show(chunk)
    this.#isTextInDoubt = false
    return answer
  }

  /** A read of an answer that is coming in. */
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

  /** Readers discard what an earlier life showed of this answer; valid text from before it is shown once more. */
  #restart(): DurableChunk[] {
    return [restart(), ...this.#standing]
  }

  #once(chunk: DurableChunk): void {
    // At once, so that its place is before that of the next action of the run.
    const write = this.#write([chunk], false)
    this.#written = Promise.all([this.#written, write]).then(() => {})
    this.#written.catch(this.#broken)
  }
}
