import { createParser } from 'eventsource-parser'
import type { ErrorData } from '../messages/errors.ts'
import { isTooDeep } from '../messages/jsonDepth.ts'
import { eventTooLarge } from './limits.ts'

/** An event of a response body: an SSE event, a line of NDJSON, or a whole JSON body. */
export type FramedEvent = { event?: string | undefined; data: string }

/** Cuts text into events. Both calls return what is wrong with the body, once that is known. */
export type TextFraming = {
  push(text: string): ErrorData | undefined
  /** The body is over. An unterminated last event counts only if it `isClean`, that is, if the connection did not break. */
  end(isClean: boolean): ErrorData | undefined
}

export type FramingOptions = {
  contentType: string | undefined
  maxEventSize: number
  secrets: readonly string[]
  onEvent(event: FramedEvent): void
}

/** Server-sent events, with what real servers do beyond the standard. */
export const sseFraming = ({ maxEventSize, onEvent }: FramingOptions): TextFraming => {
  let problem: ErrorData | undefined
  let endsWithLine = true
  let afterCr = false
  let isEnding = false
  const bare = new BareJson()
  /** Google and some gateways write their error as bare JSON into the stream, in one line or in many. */
  const readBare = (line: string): void => {
    const document = bare.push(line)
    if (document !== undefined) emitJson(document, onEvent)
    else if (bare.size > maxEventSize) problem = eventTooLarge(maxEventSize)
  }
  const parser = createParser({
    maxBufferSize: maxEventSize,
    onEvent: (event) => {
      bare.reset()
      if (!isEnding || endsWithLine || !isCutJson(event.data)) onEvent(event)
    },
    onError: ({ type, field, value, line }) => {
      if (type === 'max-buffer-size-exceeded') problem = eventTooLarge(maxEventSize)
      // llama.cpp names its error events in the field instead of sending an event of that type.
      else if (field === 'error' && value) onEvent({ event: 'error', data: value })
      else if (line !== undefined) readBare(line)
    },
  })
  return {
    push(chunk) {
      if (chunk === '' || problem) return problem
      const text = afterCr && chunk.startsWith('\n') ? chunk.slice(1) : chunk
      afterCr = chunk.endsWith('\r')
      endsWithLine = afterCr || chunk.endsWith('\n')
      // The parser would hold a final CR back until the next read; completed to CRLF it ends the line now.
      parser.feed(afterCr ? `${text}\n` : text)
      return problem
    },
    end(isClean) {
      // The parser drops an event whose blank line never came. Half a line is worth nothing after a broken connection.
      isEnding = true
      if (!problem && (isClean || endsWithLine)) parser.feed('\n\n')
      return problem
    },
  }
}

/** True for half a document, which is not an event: the stream was cut inside it, and the decoder reports that better. */
const isCutJson = (data: string): boolean =>
  /^\s*[{[]/.test(data) && data !== '[DONE]' && parsedJson(data) === undefined

/**
 * Collects a JSON document that a server wrote line by line into a stream of events, without their frame: Google's errors
 * come like that. Each character is looked at once.
 */
export class BareJson {
  #lines: string[] = []
  #size = 0
  #depth = 0

  get size(): number {
    return this.#size
  }

  /** Takes a line, and gives the document once its last bracket is closed. Lines outside of a document mean nothing. */
  push(line: string): string | undefined {
    if (this.#lines.length === 0 && !/^\s*[{[]/.test(line)) return undefined
    this.#lines.push(line)
    this.#size += line.length
    this.#depth += depthOf(line)
    return this.#depth > 0 ? undefined : this.#take()
  }

  /** Forgets what was collected: something else came, so it is not a document. */
  reset(): void {
    if (this.#lines.length > 0) this.#take()
  }

  #take(): string {
    const text = this.#lines.join('\n')
    this.#lines = []
    this.#size = 0
    this.#depth = 0
    return text
  }
}

/** The change of depth from the start of a line to its end. A JSON string never continues in the next line. */
const depthOf = (line: string): number => {
  let depth = 0
  let inString = false
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at]
    if (inString && char === '\\') at += 1
    else if (char === '"') inString = !inString
    else if (inString) continue
    else if (char === '{' || char === '[') depth += 1
    else if (char === '}' || char === ']') depth -= 1
  }
  return depth
}

/**
 * Frames a body that starts as JSON. If the first line is JSON by itself, every line is an event (NDJSON);
 * if not, the body is one document over several lines and becomes one event at its end.
 */
export const jsonFraming = ({ maxEventSize, onEvent }: FramingOptions): TextFraming => {
  let mode: 'unknown' | 'lines' | 'document' = 'unknown'
  let pending: string[] = []
  let pendingSize = 0

  const hold = (text: string): void => {
    if (text === '') return
    pending.push(text)
    pendingSize += text.length
  }
  const take = (rest: string): string => {
    if (pendingSize === 0) return rest
    const text = pending.join('') + rest
    pending = []
    pendingSize = 0
    return text
  }
  const emit = (text: string): void => emitJson(text, onEvent)

  return {
    push(chunk): ErrorData | undefined {
      let start = 0
      let end = mode === 'document' ? -1 : chunk.indexOf('\n')
      while (end !== -1) {
        const line = take(chunk.slice(start, end))
        if (mode === 'unknown') mode = parsedJson(line) === undefined ? 'document' : 'lines'
        if (mode === 'document') {
          hold(line)
          start = end
          break
        }
        emit(line)
        start = end + 1
        end = chunk.indexOf('\n', start)
      }
      hold(start === 0 ? chunk : chunk.slice(start))
      return pendingSize > maxEventSize ? eventTooLarge(maxEventSize) : undefined
    },
    end(isClean) {
      const rest = take('')
      // Half a line is not an event, but half a document may be an error text worth showing.
      const isShown = isClean && mode !== 'lines'
      if (isShown || parsedJson(rest) !== undefined) emit(rest)
      return undefined
    },
  }
}

/** The events of a JSON text. Google answers with a list where SSE was not negotiated, and wraps its errors the same way. */
const emitJson = (text: string, onEvent: FramingOptions['onEvent']): void => {
  const data = text.trim()
  const elements = data.startsWith('[') ? parsedJson(data) : undefined
  if (Array.isArray(elements)) for (const element of elements) onEvent({ data: JSON.stringify(element) })
  else if (data !== '') onEvent({ data })
}

/** The value, or undefined where the text is not whole and valid JSON, or nested too deeply to be taken apart. */
export const parsedJson = (text: string): unknown => {
  if (isTooDeep(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
