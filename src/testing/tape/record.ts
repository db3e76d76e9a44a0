import { ConfigurationError } from '../../messages/errors.ts'
import { causeOf } from '../../transport/networkError.ts'
import { onAbort } from '../../transport/onAbort.ts'
import { cleanReads, cleanText, type RawRead } from './cleanReads.ts'
import { largestTape, type TapedEnd, type TapedExchange, type TapedHead, type TapedRequest } from './tape.ts'
import type { Outgoing } from './tapedRequest.ts'

/** Says what is wrong where the exchange could not be kept. */
export type Keep = (exchange: () => TapedExchange) => ConfigurationError | undefined

/** Makes a request over the network, and keeps what comes back, read by read, however it ends. */
export const record = async (outgoing: Outgoing, request: TapedRequest, keep: Keep): Promise<Response> => {
  const { url, init, secrets } = outgoing
  const { signal } = init
  const startedAt = performance.now()
  const ms = (): number => Math.round(performance.now() - startedAt)
  const reads: RawRead[] = []
  let size = 0
  let head: TapedHead | undefined
  let isOver = false

  const finish = (end: TapedEnd): ConfigurationError | undefined => {
    if (isOver) return undefined
    isOver = true
    forgetSignal?.()
    return keep(() => {
      if (size > largestTape) throw new ConfigurationError(`An answer is larger than ${largestTape} bytes.`)
      return { request, ...(head && { head }), reads: cleanReads(reads, secrets), end }
    })
  }
  const abort = (): void => {
    finish({ ms: ms(), how: 'aborted' })
  }
  const fail = (thrown: unknown): void => {
    const { code, message } = causeOf(thrown)
    if (signal?.aborted) abort()
    else finish({ ms: ms(), how: 'broken', code, message: cleanText(message, secrets) })
  }
  const forgetSignal = signal ? onAbort(signal, abort) : undefined

  let answer: Response
  try {
    answer = await globalThis.fetch(url, init)
  } catch (thrown) {
    fail(thrown)
    throw thrown
  }
  const { status, statusText, headers } = answer
  head = { ms: ms(), status, statusText, headers: keptHeaders(headers, secrets) }
  const reader = answer.body?.getReader()
  if (!reader) {
    finish({ ms: ms(), how: 'complete' })
    return answer
  }
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (done) {
            const failure = finish({ ms: ms(), how: 'complete' })
            return failure ? controller.error(failure) : controller.close()
          }
          size += value.length
          if (size <= largestTape) reads.push({ ms: ms(), bytes: value })
          controller.enqueue(value)
        } catch (thrown) {
          fail(thrown)
          controller.error(thrown)
        }
      },
      cancel(reason) {
        abort()
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { status, statusText, headers })
}

/** What a client goes by. Cookies, names of servers and accounts stay away. */
const kept = /^(content-type|retry-after(-ms)?|x-should-retry|.*request-?id|mistral-correlation-id|cf-ray)$/

const keptHeaders = (headers: Headers, secrets: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    [...headers]
      .filter(([name]) => kept.test(name))
      .map(([name, value]) => [name, cleanText(value, secrets)]),
  )
