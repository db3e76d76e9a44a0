import { onAbort } from '../transport/onAbort.ts'

/** Where the events of a response go. */
export type Outlet = {
  /** Sends the text of an event. A reader that leaves too much unread is cut off. */
  send(data: string, event?: string): void
  /** Waits until the reader has caught up, for callers that can wait. A reader that stops reading for long is cut off. */
  ready(): Promise<void>
}

/** How a stream of events is kept open, and when it is given up. */
export type StreamLimits = { keepAliveMs: number; maxUnreadBytes: number }

/** Writes the events; the signal is aborted when the reader has left. */
export type Play = (outlet: Outlet, signal: AbortSignal) => Promise<void>

/** Callers that can wait do so while more than this is unread. */
const comfortableBytes = 64 * 1024
/** How long a reader may take to read any of it. */
const longestStallMs = 60_000

const encoder = new TextEncoder()

/**
 * A response of server-sent events. The reader is gone when the body was cancelled or the request was aborted (some
 * servers report one, some the other), or when the reader was cut off.
 */
export const eventStream = (
  request: Request,
  headers: Readonly<Record<string, string>>,
  limits: StreamLimits,
  play: Play,
): Response => {
  const source = new EventSource(request.signal, limits, play)
  const body = new ReadableStream<Uint8Array>(
    source,
    new ByteLengthQueuingStrategy({ highWaterMark: limits.maxUnreadBytes }),
  )
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
  readonly #play: Play
  readonly #left = new AbortController()
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #beat: ReturnType<typeof setInterval> | undefined
  #forget = () => {}
  /** A caller waits for the reader. */
  #caughtUp = () => {}

  constructor(asked: AbortSignal, limits: StreamLimits, play: Play) {
    this.#asked = asked
    this.#limits = limits
    this.#play = play
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller
    this.#forget = onAbort(this.#asked, () => this.#clientLeft())
    this.#beat = setInterval(() => this.#keepAlive(), this.#limits.keepAliveMs)
    // At once, so that the headers leave.
    this.#write(': open\n\n')
    if (this.#asked.aborted) this.#clientLeft()
    this.#play(this, this.#left.signal).then(
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
    // Unread ones would only pile up.
    if (this.#unread === 0) this.#write(': keep-alive\n\n')
  }

  #clientLeft(): void {
    // Not an error: servers would print it for no reader.
    if (this.#leave('the client has left')) this.#controller?.close()
  }

  #cutOff(): void {
    const reason = 'the reader was too slow'
    if (this.#leave(reason)) this.#controller?.error(new Error(`The stream was cut off: ${reason}.`))
  }

  /** Whether it is news. */
  #leave(reason: string): boolean {
    if (!this.#end()) return false
    this.#left.abort(reason)
    this.#caughtUp()
    return true
  }

  /** Whether the reader was still there. */
  #end(): boolean {
    clearInterval(this.#beat)
    this.#forget()
    return !this.#isLeft
  }
}
