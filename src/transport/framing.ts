import type { ErrorData } from '../messages/errors.ts'
import { redact } from './redact.ts'
import { type FramingOptions, jsonFraming, sseFraming, type TextFraming } from './textFraming.ts'

/** Cuts the bytes of one body into events. */
export type BodyReader = {
  push(bytes: Uint8Array): ErrorData | undefined
  end(isClean: boolean): ErrorData | undefined
}

/** A framing of a provider's own; undefined for a body that is text like everywhere else. */
export type BodyFraming = (options: FramingOptions) => BodyReader | undefined

/** Cuts response bytes into events. What the body starts with decides how; the content type helps where it does not. */
export class Framing implements BodyReader {
  readonly #options: FramingOptions
  readonly #utf8 = new Utf8Stream()
  #framing: TextFraming | undefined
  #head = ''

  constructor(options: FramingOptions) {
    this.#options = options
  }

  push(bytes: Uint8Array): ErrorData | undefined {
    const text = this.#utf8.push(bytes)
    return this.#framing ? this.#framing.push(text) : this.#start(text)
  }

  end(isClean: boolean): ErrorData | undefined {
    const rest = this.#utf8.end()
    const problem = this.#framing ? this.#framing.push(rest) : this.#start(rest)
    if (problem) return problem
    if (this.#framing) return this.#framing.end(isClean)
    return this.#head !== '' && isClean ? unexpectedText(this.#head, this.#options) : undefined
  }

  #start(text: string): ErrorData | undefined {
    // Blank lines before the first event mean nothing, and trimming also takes a byte order mark.
    this.#head = (this.#head + text).trimStart()
    const kind = kindOf(this.#head, this.#options.contentType ?? '')
    if (kind === undefined) return undefined
    if (kind === 'html') return htmlPage()
    if (kind === 'text') return unexpectedText(this.#head, this.#options)
    this.#framing = kind === 'sse' ? sseFraming(this.#options) : jsonFraming(this.#options)
    return this.#framing.push(this.#head)
  }
}

const sseFields = ['data:', 'event:', 'id:', 'retry:']

/** The kind of a body, from its first characters; undefined while that is open. The content type of servers is often wrong. */
const kindOf = (head: string, contentType: string): 'sse' | 'json' | 'html' | 'text' | undefined => {
  const first = head[0]
  if (first === undefined) return undefined
  if (first === '{' || first === '[') return 'json'
  if (first === '<') return 'html'
  if (first === ':' || /event-stream/i.test(contentType)) return 'sse'
  if (sseFields.some((field) => head.startsWith(field))) return 'sse'
  if (sseFields.some((field) => field.startsWith(head))) return undefined
  if (/ndjson|jsonl|json-?lines/i.test(contentType)) return 'json'
  return head.length > 1000 ? 'text' : undefined
}

const htmlPage = (): ErrorData => ({
  name: 'ModelError',
  message: 'The server answered with an HTML page instead of a model stream.',
  code: 'html_page',
  retryable: false,
})

const unexpectedText = (text: string, { contentType, secrets }: FramingOptions): ErrorData => ({
  name: 'ModelError',
  message: `The server answered with ${contentType || 'plain text'} instead of a model stream: ${redact(text, secrets).slice(0, 300).trimEnd()}`,
  code: 'unexpected_body',
  retryable: true,
})

// A decoder that never streams keeps Node's fast path, which is many times faster on ASCII.
const whole = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * Decodes UTF-8 across reads. Invalid bytes become U+FFFD; a character cut between two reads stays whole.
 * Reads that end on an ASCII byte, which is nearly all of them, need no memory of what came before.
 */
export class Utf8Stream {
  #streaming: InstanceType<typeof TextDecoder> | undefined
  #isCut = false

  push(bytes: Uint8Array): string {
    const last = bytes[bytes.length - 1]
    if (last === undefined) return ''
    const endsWhole = last < 0x80
    if (endsWhole && !this.#isCut) return whole.decode(bytes)
    this.#streaming ??= new TextDecoder('utf-8', { ignoreBOM: true })
    this.#isCut = !endsWhole
    return this.#streaming.decode(bytes, { stream: true })
  }

  end(): string {
    return this.#isCut && this.#streaming ? this.#streaming.decode() : ''
  }
}
