import { onAbort } from '../transport/onAbort.ts'

/** The receiver of the events of a response. */
export type Outlet = {
  /** Sends the text of an event. A reader that leaves too much unread is cut off. */
  send(data: string, event?: string): void
  /** Waits until the reader has caught up, for callers that can wait. A reader that stops reading for long is cut off. */
  ready(): Promise<void>
}

/** Limits of a stream: the time between keep-alives, and the bytes that may be unread. */
type StreamLimits = { keepAliveMs: number; maxUnreadBytes: number }

/** Writes the events. The signal is aborted when the reader has left. */
export type WriteEvents = (outlet: Outlet, signal: AbortSignal) => Promise<void>

/** The most that may be unread before callers that can wait do so. */
const comfortableBytes = 64 * 1024
/** The longest time in which a reader reads nothing. */
const longestStallMs = 60_000

const encoder = new TextEncoder()

/**
 * A response of server-sent events. The reader has left when the body was cancelled or the request was aborted (servers
 * report one or the other), or when a slow reader was cut off.
 */
export const eventStream = (
  request: Request,
  headers: Readonly<Record<string, string>>,
  limits: StreamLimits,
  write: WriteEvents,
): Response => {
  const source = new EventSource(request.signal, limits, write)
  // Not a ByteLengthQueuingStrategy, which the edge runtime of Next does not have.
  const body = new ReadableStream<Uint8Array>(source, {
    highWaterMark: limits.maxUnreadBytes,
    size: (chunk) => chunk.byteLength,
  })
  const general = {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  }
  return new Response(body, { headers: { ...general, ...headers } })
}

class EventSource implements Outlet {
  readonly #asked: AbortSignal
  readonly #limits: StreamLimits
  readonly #writeEvents: WriteEvents
  readonly #left = new AbortController()
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #beat: ReturnType<typeof setInterval> | undefined
  #forget = () => {}
  /** Continues a caller that waits for the reader. */
  #caughtUp = () => {}

  constructor(asked: AbortSignal, limits: StreamLimits, write: WriteEvents) {
    this.#asked = asked
    this.#limits = limits
    this.#writeEvents = write
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller
    this.#forget = onAbort(this.#asked, () => this.#clientLeft())
    this.#beat = setInterval(() => this.#keepAlive(), this.#limits.keepAliveMs)
    // Written first, so that the headers are sent.
    this.#write(': open\n\n')
    if (this.#asked.aborted) this.#clientLeft()
    this.#writeEvents(this, this.#left.signal).then(
      () => {
        if (this.#end()) controller.close()
      },
      (thrown) => {
        if (this.#end()) controller.error(thrown)
      },
    )
  }

  pull(): void {
    this.#caughtUp()
  }

  cancel(): void {
    this.#leave('the client has left')
  }

  send(data: string, event?: string): void {
    this.#write(`${event === undefined ? '' : `event: ${event}\n`}data: ${data}\n\n`)
  }

  async ready(): Promise<void> {
    while (!this.#isLeft && this.#unread > comfortableBytes) {
      const stalled = setTimeout(() => this.#cutOff(), longestStallMs)
      await new Promise<void>((resolve) => {
        this.#caughtUp = resolve
      })
      clearTimeout(stalled)
    }
  }

  get #isLeft(): boolean {
    return this.#left.signal.aborted
  }

  get #unread(): number {
    return this.#limits.maxUnreadBytes - (this.#controller?.desiredSize ?? 0)
  }

  #write(text: string): void {
    if (this.#isLeft) return
    // Checked before: a single event may exceed the limit, for a reader that reads.
    if (this.#unread >= this.#limits.maxUnreadBytes) this.#cutOff()
    else this.#controller?.enqueue(encoder.encode(text))
  }

  #keepAlive(): void {
    // Unread keep-alives would only pile up.
    if (this.#unread === 0) this.#write(': keep-alive\n\n')
  }

  #clientLeft(): void {
    // Not an error, which servers would print.
    if (this.#leave('the client has left')) this.#controller?.close()
  }

  #cutOff(): void {
    const reason = 'the reader was too slow'
    if (this.#leave(reason)) this.#controller?.error(new Error(`The stream was cut off: ${reason}.`))
  }

  /** Ends the stream; false if it had already ended. */
  #leave(reason: string): boolean {
    if (!this.#end()) return false
    this.#left.abort(reason)
    this.#caughtUp()
    return true
  }

  /** Stops the timers; false if the reader had already left. */
  #end(): boolean {
    clearInterval(this.#beat)
    this.#forget()
    return !this.#isLeft
  }
}
