import type { ErrorData } from '../messages/errors.ts'
import { type HttpRequest, isSuccess, type ResponseHead, type WholeAnswer } from './carriers.ts'
import { type Carrier, exchange } from './exchange.ts'
import { type BodyFraming, type BodyReader, Framing, Utf8Stream } from './framing.ts'
import { type Limits, responseTooLarge } from './limits.ts'
import { networkError } from './networkError.ts'
import type { FramedEvent } from './textFraming.ts'

/** The receiver of a stream. `end` or `refused` comes last, and once. */
export type StreamHandler = {
  head(head: ResponseHead): void
  event(event: FramedEvent): void
  /** All events of one network read have been given. */
  readDone(): void
  /** The body is over; `failure` says why it is not whole. */
  end(failure?: ErrorData): void
  /** The status is an error. */
  refused(answer: WholeAnswer): void
}

export type OpenStream = {
  /** Closes the connection at once. Nothing is reported afterwards. */
  close(): void
  /** The rest is not needed: reads it to keep the connection usable, if it is short. Nothing more is reported. */
  drain(): void
}

const drainLimit = { size: 1024 * 1024, ms: 1000 }
const errorBodyMs = 5000

/** Sends one request and cuts its answer into events. */
export const openStream = (
  request: HttpRequest,
  carrier: Carrier,
  limits: Limits,
  secrets: readonly string[],
  handler: StreamHandler,
  ownFraming?: BodyFraming,
): OpenStream => {
  let state: 'reading' | 'draining' | 'over' = 'reading'
  let received = 0
  let framing: BodyReader | undefined
  let refused: WholeAnswer | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  const errorText = new Utf8Stream()

  const close = (): void => {
    if (state === 'over') return
    state = 'over'
    clearTimeout(timer)
    closeExchange()
  }
  const end = (failure?: ErrorData): void => {
    const problem = framing?.end(failure === undefined) ?? failure
    close()
    handler.end(problem)
  }
  const refuse = (answer: WholeAnswer): void => {
    answer.body += errorText.end()
    close()
    handler.refused(answer)
  }
  const readStream = (bytes: Uint8Array): void => {
    const isTooLarge = received > limits.maxResponseSize
    const problem = isTooLarge ? responseTooLarge(limits, 'maxResponseSize') : framing?.push(bytes)
    if (!problem) return
    close()
    handler.end(problem)
  }
  const readRefusal = (answer: WholeAnswer, bytes: Uint8Array): void => {
    const excess = received - limits.maxErrorBodySize
    answer.body += errorText.push(excess > 0 ? bytes.subarray(0, -excess) : bytes)
    if (excess >= 0) refuse(answer)
  }

  const closeExchange = exchange(request, carrier, {
    head(head) {
      if (isSuccess(head)) {
        const options = {
          contentType: head.header('content-type'),
          maxEventSize: limits.maxEventSize,
          secrets,
          onEvent: handler.event,
        }
        framing = ownFraming?.(options) ?? new Framing(options)
        handler.head(head)
      } else {
        const answer = { ...head, body: '' }
        refused = answer
        timer = setTimeout(() => refuse(answer), errorBodyMs)
      }
    },
    data(bytes) {
      if (state === 'over') return
      received += bytes.length
      if (refused) readRefusal(refused, bytes)
      else if (state === 'reading') readStream(bytes)
      else if (received > drainLimit.size) close()
    },
    readDone() {
      if (state === 'reading' && !refused) handler.readDone()
    },
    end() {
      if (refused) refuse(refused)
      else if (state === 'reading') end()
      else close()
    },
    fail(error) {
      // The status of a refusal says more than how its body broke off.
      if (refused) refuse(refused)
      else if (state === 'reading') end(networkError(error, request.url, secrets))
      else close()
    },
  })

  return {
    close,
    drain() {
      if (state !== 'reading') return
      state = 'draining'
      received = 0
      timer = setTimeout(close, drainLimit.ms)
      // The run is over: what is left of its connection must not keep the process alive.
      timer.unref?.()
    },
  }
}
