import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import { isTooDeep, tooDeep } from '../../src/messages/jsonDepth.ts'
import type { Delta } from '../../src/model/delta.ts'
import { arrayAt, BadWireJson, numberAt, objectAt, parseWireObject, stringAt } from '../wire/wireJson.ts'

/** The responses in an event: one, none, or the list that the wire sends when it does not stream events. */
export const chunksIn = (data: string): JsonObject[] | BadWireJson => {
  const text = data.startsWith('{') ? '' : data.trim()
  if (!text.startsWith('[')) {
    const chunk = parseWireObject(data)
    if (chunk instanceof BadWireJson) return chunk
    return chunk ? [chunk] : []
  }
  // Gateways built for other wires end with this word.
  if (text === '[DONE]') return []
  if (isTooDeep(text)) return new BadWireJson(data, tooDeep)
  try {
    const list: JsonValue[] = JSON.parse(text)
    return list.filter(isJsonObject)
  } catch {
    return new BadWireJson(data)
  }
}

export const firstCandidate = (chunk: JsonObject): JsonObject | undefined => {
  for (const candidate of arrayAt(chunk, 'candidates') ?? []) {
    if (isJsonObject(candidate) && (numberAt(candidate, 'index') ?? 0) === 0) return candidate
  }
  return undefined
}

export const blockOf = (feedback: JsonObject | undefined): JsonObject | undefined => {
  const blockReason = stringAt(feedback, 'blockReason')
  if (!blockReason) return undefined
  const blockReasonMessage = stringAt(feedback, 'blockReasonMessage')
  const safetyRatings = arrayAt(feedback, 'safetyRatings')
  return {
    blockReason,
    ...(blockReasonMessage && { blockReasonMessage }),
    ...(safetyRatings && { safetyRatings }),
  }
}

const serverTools = ['executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'] as const

export const serverToolOf = (part: JsonObject): JsonObject | undefined => {
  for (const key of serverTools) {
    const content = objectAt(part, key)
    if (content) return { [key]: content }
  }
  return undefined
}

export const mediaOf = (part: JsonObject): Delta | undefined => {
  const inline = objectAt(part, 'inlineData')
  const data = stringAt(inline, 'data')
  if (data) {
    const mimeType = stringAt(inline, 'mimeType') ?? 'application/octet-stream'
    return { type: 'part', part: { type: 'data', mimeType, data } }
  }
  const file = objectAt(part, 'fileData')
  const url = stringAt(file, 'fileUri')
  const mimeType = stringAt(file, 'mimeType')
  return url ? { type: 'part', part: { type: 'link', url, ...(mimeType && { mimeType }) } } : undefined
}
