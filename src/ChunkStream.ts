type Waiting<T> = { resolve: (result: IteratorResult<T>) => void; reject: (error: Error) => void }

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
  #waiting: Waiting<T> | undefined
  #end: { error?: Error } | undefined

  constructor(start: (stream: ChunkStream<T>) => () => void) {
    this.#start = start
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  push(chunk: T): void {
    const waiting = this.#waiting
    if (!waiting) {
      this.#chunks.push(chunk)
      return
    }
    this.#waiting = undefined
    waiting.resolve({ value: chunk, done: false })
  }

  finish(error?: Error): void {
    this.#end ??= error ? { error } : {}
    const waiting = this.#waiting
    if (!waiting) return
    this.#waiting = undefined
    this.#settle(waiting)
  }

  next(): Promise<IteratorResult<T>> {
    if (!this.#stop && !this.#end) this.#stop = this.#start(this)
    const chunk = this.#chunks[this.#next]
    if (chunk !== undefined) {
      this.#next += 1
      if (this.#next === this.#chunks.length) {
        this.#chunks = []
        this.#next = 0
      }
      return Promise.resolve({ value: chunk, done: false })
    }
    return new Promise((resolve, reject) => {
      if (this.#end) this.#settle({ resolve, reject })
      else this.#waiting = { resolve, reject }
    })
  }

  return(): Promise<IteratorResult<T>> {
    this.#stop?.()
    this.#chunks = []
    this.#next = 0
    this.#end = {}
    this.#waiting?.resolve({ value: undefined, done: true })
    this.#waiting = undefined
    return Promise.resolve({ value: undefined, done: true })
  }

  #settle({ resolve, reject }: Waiting<T>): void {
    const error = this.#end?.error
    // An error is thrown once; after it the stream is simply over.
    this.#end = {}
    if (error) reject(error)
    else resolve({ value: undefined, done: true })
  }
}
