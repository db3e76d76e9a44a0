import { toBase64 } from '../../messages/base64.ts'
import { ConfigurationError } from '../../messages/errors.ts'
import { causeOf } from '../../transport/networkError.ts'
import { onAbort } from '../../transport/onAbort.ts'
import { redact, withoutSecrets } from '../../transport/redact.ts'
import {
  largestTape,
  type TapedEnd,
  type TapedExchange,
  type TapedHead,
  type TapedRead,
  type TapedRequest,
} from './tape.ts'
import type { Outgoing } from './tapedRequest.ts'

/** Keeps an exchange. Returns the reason where it could not. */
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

/** The headers that a client reads. Cookies and the names of servers and accounts are not recorded. */
const kept = /^(content-type|retry-after(-ms)?|x-should-retry|.*request-?id|mistral-correlation-id|cf-ray)$/

const keptHeaders = (headers: Headers, secrets: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    [...headers]
      .filter(([name]) => kept.test(name))
      .map(([name, value]) => [name, cleanText(value, secrets)]),
  )

type RawRead = { ms: number; bytes: Uint8Array }

/** The reads as they are kept: with their edges, and without anything secret. */
const cleanReads = (reads: readonly RawRead[], secrets: readonly string[]): TapedRead[] => {
  const whole = joined(reads)
  const text = textOf(whole)
  if (text === undefined) {
    // Frames have lengths and checksums: taking something out would break them.
    const letters = new TextDecoder('latin1').decode(whole)
    if (withoutSecrets(letters, secrets) !== letters)
      throw new ConfigurationError('A binary answer repeats the key: it cannot be stored on a tape.')
    return reads.map(({ ms, bytes }) => ({ ms, base64: toBase64(bytes) }))
  }
  const safe = cleanText(text, secrets)
  if (safe === text) return reads.map(asItCame)
  const each = reads.map(({ ms, bytes }) => ({ ms, text: cleanText(textOf(bytes) ?? '', secrets) }))
  // A key across two reads is only found in the whole, which is then stored as one read.
  const isWhole = each.map((read) => read.text).join('') === safe
  return isWhole ? each : [{ ms: reads.at(-1)?.ms ?? 0, text: safe }]
}

/** Removes secrets, piece by piece between the escapes of JSON, so that none of them is torn apart. */
const cleanText = (text: string, secrets: readonly string[]): string =>
  withoutSecrets(text, secrets)
    .split(/(\\.)/s)
    .map((piece) => redact(piece, []))
    .join('')

const joined = (reads: readonly RawRead[]): Uint8Array => {
  const whole = new Uint8Array(reads.reduce((size, { bytes }) => size + bytes.length, 0))
  let at = 0
  for (const { bytes } of reads) {
    whole.set(bytes, at)
    at += bytes.length
  }
  return whole
}

/** Stores a read as text, or in base64 if it begins or ends inside a character. */
const asItCame = ({ ms, bytes }: RawRead): TapedRead => {
  const text = textOf(bytes)
  return text === undefined ? { ms, base64: toBase64(bytes) } : { ms, text }
}

/** Undefined where the bytes are not UTF-8. */
const textOf = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}
