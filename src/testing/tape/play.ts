import { fromBase64 } from '../../messages/base64.ts'
import { ConfigurationError } from '../../messages/errors.ts'
import { longestTimerMs, onAbort } from '../../transport/onAbort.ts'
import type { TapedEnd, TapedExchange, TapedRead } from './tape.ts'

/** The time beyond that of the recording in which a caller may leave where it left before. */
const patienceMs = 1000

/** Answers with an exchange of a tape, read by read. */
export const play = async (
  { head, reads, end }: TapedExchange,
  speed: number,
  signal: AbortSignal | undefined,
): Promise<Response> => {
  const leave = new AbortController()
  const forgetSignal = signal && onAbort(signal, () => leave.abort(signal.reason))
  if (signal?.aborted) leave.abort(signal.reason)
  const startedAt = performance.now()
  const reach = (ms: number): Promise<void> =>
    pause(speed === 0 ? 0 : ms / speed - (performance.now() - startedAt), leave.signal)

  /** Throws for every end but a good one. */
  const finish = async (): Promise<void> => {
    await reach(end.ms)
    if (end.how === 'broken') throw breakOf(end)
    if (end.how === 'complete') return
    await pause(end.ms + patienceMs, leave.signal)
    throw new ConfigurationError(
      `The recording of this answer ends after ${reads.length} reads: the request was aborted there. Abort it again, or record it again.`,
    )
  }

  try {
    if (!head) {
      await finish()
      throw new ConfigurationError('The tape has an answer that is complete, but has no status.')
    }
    await reach(head.ms)
  } catch (thrown) {
    forgetSignal?.()
    throw thrown
  }
  const { status, statusText, headers } = head
  if ([204, 205, 304].includes(status)) {
    forgetSignal?.()
    return new Response(null, { status, statusText, headers })
  }
  let next = 0
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const read = reads[next++]
          await (read ? reach(read.ms) : finish())
          if (read) return controller.enqueue(bytesOf(read))
          controller.close()
        } catch (thrown) {
          controller.error(thrown)
        }
        forgetSignal?.()
      },
      cancel() {
        leave.abort()
        forgetSignal?.()
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { status, statusText, headers })
}

const bytesOf = (read: TapedRead): Uint8Array =>
  'text' in read ? new TextEncoder().encode(read.text) : fromBase64(read.base64)

/** The error that `fetch` throws when a connection fails: the reason is its cause. */
const breakOf = ({ code, message }: Extract<TapedEnd, { how: 'broken' }>): Error =>
  new TypeError('fetch failed', { cause: Object.assign(new Error(message), { code }) })

/** Waits at least until the next turn of the event loop, as between two reads of a socket. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const go = (): void => {
      forget()
      if (signal.aborted) stop()
      else resolve()
    }
    const forget = onAbort(signal, stop)
    const timer = ms > 0 ? setTimeout(go, Math.min(ms, longestTimerMs)) : undefined
    if (signal.aborted) stop()
    else if (timer === undefined) setImmediate(go)
  })
