import type { EventStreamCodec } from '@smithy/eventstream-codec'
import { textFromBase64 } from '../../src/messages/base64.ts'
import type { ErrorData } from '../../src/messages/errors.ts'
import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import type { BodyFraming, BodyReader } from '../../src/transport/framing.ts'
import { eventTooLarge } from '../../src/transport/limits.ts'
import type { FramingOptions } from '../../src/transport/textFraming.ts'
import { parsedJson } from '../../src/transport/textFraming.ts'
import { stringAt } from '../wire/json.ts'

/** `application/vnd.amazon.eventstream`: frames of bytes, each with headers and checksums, around the provider's own events. */
export const eventStreamFraming = (Codec: typeof EventStreamCodec): BodyFraming => {
  const codec = new Codec(
    (bytes) => (typeof bytes === 'string' ? bytes : new TextDecoder().decode(bytes)),
    (text) => new TextEncoder().encode(text),
  )
  return (options) =>
    options.contentType?.includes('vnd.amazon.eventstream')
      ? new EventStreamReader(codec, options)
      : undefined
}

/** A frame begins with its length and holds at least its checksums. */
const lengthSize = 4
const shortestFrame = 16

class EventStreamReader implements BodyReader {
  readonly #codec: EventStreamCodec
  readonly #options: FramingOptions
  #pending: Uint8Array[] = []
  #size = 0
  /** The bytes to wait for before anything is put together, so that a read copies nothing. */
  #needed = lengthSize

  constructor(codec: EventStreamCodec, options: FramingOptions) {
    this.#codec = codec
    this.#options = options
  }

  push(bytes: Uint8Array): ErrorData | undefined {
    this.#pending.push(bytes)
    this.#size += bytes.length
    if (this.#size < this.#needed) return undefined
    const all = joined(this.#pending, this.#size)
    const view = new DataView(all.buffer, all.byteOffset, all.byteLength)
    let start = 0
    this.#needed = lengthSize
    while (all.length - start >= lengthSize) {
      const length = view.getUint32(start)
      if (length < shortestFrame) return badFrame('a frame is too short')
      if (length > this.#options.maxEventSize) return eventTooLarge(this.#options.maxEventSize)
      if (all.length - start < length) {
        this.#needed = length
        break
      }
      const problem = this.#read(all.subarray(start, start + length))
      if (problem) return problem
      start += length
    }
    this.#size = all.length - start
    this.#pending = this.#size > 0 ? [all.subarray(start)] : []
    return undefined
  }

  /** Half a frame is not an event: the decoder reports that the stream was cut. */
  end(): undefined {}

  #read(frame: Uint8Array): ErrorData | undefined {
    let message: ReturnType<EventStreamCodec['decode']>
    try {
      message = this.#codec.decode(frame)
    } catch {
      return badFrame('a checksum is wrong')
    }
    const header = (name: string): string => String(message.headers[name]?.value ?? '')
    const body = parsedJson(new TextDecoder().decode(message.body))
    const content = isJsonObject(body) ? body : {}
    const kind = header(':message-type')
    if (kind === 'event') {
      const bytes = stringAt(content, 'bytes')
      if (bytes !== undefined) this.#options.onEvent({ data: textFromBase64(bytes) })
      // Converse has its events in the frames themselves, and their names in a header.
      else if (Object.keys(content).length > 0)
        this.#options.onEvent({ event: header(':event-type'), data: JSON.stringify(content) })
    } else if (kind === 'exception') this.#fail(header(':exception-type'), problemIn(content))
    else if (kind === 'error') this.#fail(header(':error-code'), header(':error-message'))
    return undefined
  }

  /** Reports an error in Anthropic's form, so that every decoder knows what may be retried. */
  #fail(exception: string, message: string | undefined): void {
    const type = anthropicWords.get(exception.toLowerCase()) ?? exception
    const error: JsonObject = { type: 'error', error: { type, exception, message: message || exception } }
    this.#options.onEvent({ event: 'error', data: JSON.stringify(error) })
  }
}

const problemIn = (content: JsonObject): string | undefined =>
  stringAt(content, 'message') || stringAt(content, 'Message') || stringAt(content, 'originalMessage')

const anthropicWords: ReadonlyMap<string, string> = new Map([
  ['throttlingexception', 'rate_limit_error'],
  ['internalserverexception', 'api_error'],
  ['modelstreamerrorexception', 'api_error'],
  ['modeltimeoutexception', 'timeout_error'],
  ['serviceunavailableexception', 'overloaded_error'],
  ['validationexception', 'invalid_request_error'],
])

const joined = (parts: readonly Uint8Array[], size: number): Uint8Array => {
  const [first] = parts
  if (first && parts.length === 1) return first
  const all = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

const badFrame = (problem: string): ErrorData => ({
  name: 'ModelError',
  message: `The event stream of the provider cannot be read: ${problem}.`,
  code: 'invalid_frame',
  retryable: true,
})
