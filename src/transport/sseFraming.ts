import { createParser } from 'eventsource-parser'
import type { ErrorData } from '../messages/errors.ts'
import { BareJson } from './bareJson.ts'
import type { FramingOptions, TextFraming } from './framing.ts'
import { emitJson, parsedJson } from './jsonFraming.ts'
import { eventTooLarge } from './limits.ts'

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

/** Half a document is not an event: the stream was cut inside it, and the decoder reports that better. */
const isCutJson = (data: string): boolean =>
  /^\s*[{[]/.test(data) && data !== '[DONE]' && parsedJson(data) === undefined
