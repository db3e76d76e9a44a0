import { ToolExecutionError } from '../messages/errors.ts'
import { copyJson, isJsonObject, type JsonObject, type JsonValue, stableJson } from '../messages/json.ts'
import { dataPart, linkPart, type Part, type TextPart, textPart } from '../messages/messages.ts'

/**
 * What a server answered, as a tool gives it: texts, images, sounds and files as parts. Throws what the server calls an
 * error, so that the model sees it as one.
 */
export const resultContent = (given: unknown): unknown => {
  const answer = copyJson(given ?? null)
  if (!isJsonObject(answer)) throw new ToolExecutionError('The MCP server did not send a result.')
  const content = Array.isArray(answer.content) ? answer.content : []
  const parts = [...content.map(partOf), ...structured(answer, content)]
  if (answer.isError === true) throw new ToolExecutionError(textIn(parts) || 'The tool failed.')
  return parts.length === 0 ? null : parts
}

const textIn = (parts: readonly Part[]): string =>
  parts.flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n')

/**
 * Servers repeat structured content as content for older clients: as JSON, or as the value of its only field. Where
 * they do not, the model would miss it.
 */
const structured = ({ structuredContent }: JsonObject, content: readonly JsonValue[]): TextPart[] => {
  if (structuredContent === undefined) return []
  const inner = isJsonObject(structuredContent) ? Object.values(structuredContent) : []
  const meant = [structuredContent, ...(inner.length === 1 ? inner : [])].map(stableJson)
  const said = [content, ...content.flatMap(readingsOf)].map(stableJson)
  return said.some((each) => meant.includes(each)) ? [] : [textPart(JSON.stringify(structuredContent))]
}

/** A text is itself, and perhaps JSON. */
const readingsOf = (block: JsonValue): JsonValue[] => {
  if (!isJsonObject(block) || typeof block.text !== 'string') return []
  try {
    return [block.text, copyJson(JSON.parse(block.text))]
  } catch {
    return [block.text]
  }
}

const partOf = (block: JsonValue): Part => {
  if (!isJsonObject(block)) return textPart(JSON.stringify(block))
  const { type, text, data, mimeType } = block
  if (type === 'text' && typeof text === 'string') return textPart(text)
  if ((type === 'image' || type === 'audio') && typeof data === 'string' && typeof mimeType === 'string')
    return fileOf(mimeType, data)
  if (type === 'resource_link') return linkOf(block)
  if (type === 'resource' && isJsonObject(block.resource)) return resourceOf(block.resource)
  // A kind that came after this was written: the model may make sense of it.
  return textPart(JSON.stringify(block))
}

/** In linear time, for any value. */
const isBase64 = (data: string): boolean => /^[A-Za-z0-9+/_-]*={0,2}$/.test(data)

const fileOf = (mimeType: string, data: string, name?: string): Part =>
  isBase64(data)
    ? dataPart(mimeType, data, name)
    : textPart(`[${name ?? mimeType}: the server sent it as something that is not base64.]`)

const resourceOf = ({ uri, mimeType, text, blob }: JsonObject): Part => {
  const name = typeof uri === 'string' ? uri : 'resource'
  if (typeof text === 'string') return textPart(`[${name}]\n${text}`)
  const type = typeof mimeType === 'string' ? mimeType : 'application/octet-stream'
  return typeof blob === 'string' ? fileOf(type, blob, name) : textPart(`[${name}]`)
}

/** Models can follow only what is on the web; of anything else they learn where the server keeps it. */
const linkOf = ({ uri, name, mimeType, description }: JsonObject): Part => {
  const url = typeof uri === 'string' ? uri : ''
  const called = typeof name === 'string' ? name : undefined
  if (/^https?:\/\//i.test(url) && URL.canParse(url))
    return linkPart(url, typeof mimeType === 'string' ? mimeType : undefined, called)
  const told = [called, url, mimeType, description].filter((each) => typeof each === 'string' && each !== '')
  return textPart(`[resource: ${told.join(', ')}]`)
}
