type Pull<T> = { resolve: (result: IteratorResult<T>) => void; reject: (error: unknown) => void }

/**
 * Hands chunks to one `for await`. The source starts with the first pull; leaving the loop early stops it.
 * Chunks that came before an error are delivered before it is thrown.
 */
export class ChunkStream<T> implements AsyncIterableIterator<T> {
  readonly #start: (stream: ChunkStream<T>) => () => void
  #stop: (() => void) | undefined
  #chunks: T[] = []
  /** Index of the next chunk to hand out: shifting an array of many chunks would cost each time. */
  #next = 0
  /** Pulls that came before their chunk. */
  #pulls: Pull<T>[] = []
  /** Anything can be thrown, even undefined: only the property distinguishes an error from a good end. */
  #end: { error?: unknown } | undefined
  #isLeft = false
  #isEndShown = false

  constructor(start: (stream: ChunkStream<T>) => () => void) {
    this.#start = start
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  push(chunk: T): void {
    if (this.#end) return
    const pull = this.#pulls.shift()
    if (pull) pull.resolve({ value: chunk, done: false })
    else this.#chunks.push(chunk)
  }

  finish(): void {
    this.#finish({})
  }

  fail(error: unknown): void {
    this.#finish({ error })
  }

  /** More chunks follow after all, but not for a reader that has seen the end or has left. */
  reopen(): void {
    if (!this.#isLeft && !this.#isEndShown) this.#end = undefined
  }

  next(): Promise<IteratorResult<T>> {
    this.#begin()
    if (this.#next < this.#chunks.length) return Promise.resolve({ value: this.#take(), done: false })
    return new Promise((resolve, reject) => {
      if (this.#end) this.#settle({ resolve, reject })
      else this.#pulls.push({ resolve, reject })
    })
  }

  return(): Promise<IteratorResult<T>> {
    this.#chunks = []
    this.#next = 0
    this.finish()
    this.#end = {}
    this.#isLeft = true
    this.#stop?.()
    return Promise.resolve({ value: undefined, done: true })
  }

  #begin(): void {
    if (this.#stop || this.#end) return
    this.#stop = () => {}
    try {
      this.#stop = this.#start(this)
      // A listener may leave the stream while the run starts.
      if (this.#isLeft) this.#stop()
    } catch (thrown) {
      this.fail(thrown)
    }
  }

  #take(): T {
    const chunk = this.#chunks[this.#next] as T
    this.#next += 1
    if (this.#next === this.#chunks.length) {
      this.#chunks = []
      this.#next = 0
    }
    return chunk
  }

  #finish(end: { error?: unknown }): void {
    if (this.#end) return
    this.#end = end
    for (const pull of this.#pulls.splice(0)) this.#settle(pull)
  }

  #settle({ resolve, reject }: Pull<T>): void {
    const end = this.#end ?? {}
    this.#isEndShown = true
    // An error is thrown once; after it the stream is simply over.
    this.#end = {}
    if ('error' in end) reject(end.error)
    else resolve({ value: undefined, done: true })
  }
}
