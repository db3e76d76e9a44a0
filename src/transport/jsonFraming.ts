import type { ErrorData } from '../messages/errors.ts'
import { isTooDeep } from '../messages/jsonDepth.ts'
import type { FramingOptions, TextFraming } from './framing.ts'
import { eventTooLarge } from './limits.ts'

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
export const emitJson = (text: string, onEvent: FramingOptions['onEvent']): void => {
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
