import { type ErrorData, errorFrom } from '../messages/errors.ts'
import type { JsonValue } from '../messages/json.ts'
import { type HttpRequest, isSuccess, type ResponseHead, type WholeAnswer } from './carriers.ts'
import { type Carrier, exchange } from './exchange.ts'
import { Utf8Stream } from './framing.ts'
import { type Limits, responseTooLarge } from './limits.ts'
import { networkError } from './networkError.ts'
import { longestTimerMs, onAbort } from './onAbort.ts'

type JsonExchange = {
  request: HttpRequest
  carrier: Carrier
  limits: Limits
  secrets: readonly string[]
  /** The name of the server in every error. */
  provider: string
  /** Reads an answer with an error status. */
  refusal(answer: WholeAnswer): ErrorData
  signal?: AbortSignal | undefined
  /** The longest waits for the answer to start, and to continue. */
  firstChunkMs: number
  idleMs: number
}

/** Sends a request that has one JSON answer, for embeddings and listings. Rejects with the same typed errors as a stream. */
export const requestJson = async (options: JsonExchange): Promise<JsonValue> => {
  const { provider } = options
  const answer = await wholeAnswer(options)
  if (!isSuccess(answer)) throw errorFrom(options.refusal(answer))
  try {
    return JSON.parse(answer.body)
  } catch {
    throw errorFrom({ ...notJson(answer.body), provider })
  }
}

const wholeAnswer = (options: JsonExchange) =>
  new Promise<WholeAnswer>((resolve, reject) => {
    const { request, carrier, limits, secrets, provider, signal, firstChunkMs, idleMs } = options
    const text = new Utf8Stream()
    const pieces: string[] = []
    let answer: ResponseHead | undefined
    let received = 0
    let timer: ReturnType<typeof setTimeout> | undefined

    const settle = (error?: ErrorData): void => {
      clearTimeout(timer)
      forgetSignal?.()
      close()
      const body = joined(pieces, text.end())
      const problem = error ?? (body === undefined ? responseTooLarge(limits, 'maxDocumentSize') : undefined)
      if (problem) reject(errorFrom({ ...problem, provider }))
      else if (answer && body !== undefined) resolve({ ...answer, body })
    }
    const wait = (ms: number, message: string): void => {
      clearTimeout(timer)
      const timeout = (): void => settle({ name: 'TimeoutError', message, retryable: true })
      timer = setTimeout(timeout, Math.min(ms, longestTimerMs))
    }
    const abort = (): void => settle({ name: 'AbortedError', message: 'The request was aborted.' })
    // The status of a refusal says more than how its body broke off.
    const isRefused = (): boolean => answer !== undefined && !isSuccess(answer)
    const readRefusal = (bytes: Uint8Array): void => {
      const excess = received - limits.maxErrorBodySize
      pieces.push(text.push(excess > 0 ? bytes.subarray(0, -excess) : bytes))
      if (excess >= 0) settle()
    }

    const close = exchange(request, carrier, {
      head(head) {
        answer = head
      },
      data(bytes) {
        received += bytes.length
        // Blank lines only mean that the server is still working.
        if (bytes.some((byte) => byte > 0x20))
          wait(idleMs, `The answer stalled for ${idleMs} ms (timeouts.idleMs).`)
        if (isRefused()) readRefusal(bytes)
        else if (received > limits.maxDocumentSize) settle(responseTooLarge(limits, 'maxDocumentSize'))
        else pieces.push(text.push(bytes))
      },
      readDone() {},
      end: settle,
      fail: (error) => settle(isRefused() ? undefined : networkError(error, request.url, secrets)),
    })

    const forgetSignal = signal && onAbort(signal, abort)
    if (signal?.aborted) return abort()
    wait(firstChunkMs, `No answer began within ${firstChunkMs} ms (timeouts.firstChunkMs).`)
  })

/** Joins the text; undefined where the limit was set so high that no string can hold it. */
const joined = (pieces: readonly string[], rest: string): string | undefined => {
  try {
    return pieces.join('') + rest
  } catch {
    return undefined
  }
}

const notJson = (body: string): ErrorData => {
  const isPage = body.trimStart().startsWith('<')
  const what = isPage ? 'an HTML page instead of JSON; check baseUrl.' : 'something that is not JSON.'
  return {
    name: 'ModelError',
    message: `The server answered with ${what}`,
    code: isPage ? 'html_page' : 'invalid_json',
    retryable: !isPage,
  }
}
