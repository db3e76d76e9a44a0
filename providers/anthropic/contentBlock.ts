import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import type { WireToolCall } from '../../src/model/delta.ts'
import { parseArguments } from '../../src/model/toolArguments.ts'
import { neverClosed, withheld } from '../wire/decoder.ts'
import { stringAt } from '../wire/json.ts'
import { callEntry, textEntry } from './replay.ts'

export type TextContent = { kind: 'text'; length: number; citations: JsonValue[] }
export type CallContent = {
  kind: 'call'
  order: number
  id: string
  name: string
  text: string
  /** Arguments that came all at once, when the block was opened. */
  whole: JsonValue | undefined
  extras: JsonObject
  isClosed: boolean
}
/** A block that is kept as it is: thinking, server tools, compactions and future kinds. */
type OpaqueContent = { kind: 'opaque'; block: JsonObject; input: string; isClosed: boolean }
export type Content = TextContent | CallContent | OpaqueContent

/** A content block as the wire opens it. */
export const openContent = (block: JsonObject, order: number): Content => {
  const { type, id, name, input, ...extras } = block
  if (type === 'text') return { kind: 'text', length: 0, citations: [] }
  // Only the client's own tools are calls; a call without a name is not one.
  if (type === 'tool_use' && typeof name === 'string' && name !== '') {
    // The usual `{}` only holds the place of what the deltas will bring.
    const isPlaceholder = isJsonObject(input) && Object.keys(input).length === 0
    const whole = isPlaceholder || input === null || input === '' ? undefined : input
    const known = { id: typeof id === 'string' ? id : '', name, whole, extras }
    return { kind: 'call', order, ...known, text: '', isClosed: false }
  }
  return { kind: 'opaque', block: { ...block }, input: '', isClosed: false }
}

const growing = ['thinking', 'signature', 'content', 'encrypted_content'] as const

/** Adds a delta to an opaque block: each of its texts continues the block's field of that name. Returns true if it brought any. */
export const growOpaque = (content: OpaqueContent, delta: JsonObject): boolean => {
  const input = stringAt(delta, 'partial_json') ?? ''
  let hasGrown = input !== ''
  content.input += input
  for (const field of growing) {
    const piece = stringAt(delta, field)
    const known = stringAt(content.block, field)
    // A signature that was announced with the block may be repeated in its delta.
    if (piece === undefined || (field === 'signature' && piece === known)) continue
    content.block[field] = (known ?? '') + piece
    hasGrown ||= piece !== ''
  }
  return hasGrown
}

/** The whole block, with its input put together. */
export const opaqueBlock = ({ block, input }: OpaqueContent): JsonObject => {
  if (input.trim() === '') return block
  const parsed = parseArguments(input)
  return parsed.argumentsError === undefined ? { ...block, input: parsed.arguments } : block
}

/** The call so far. Arguments that are a whole object were closed by their own brace; empty ones were not. */
export const wireCall = (content: CallContent, isClosed: boolean): WireToolCall => {
  const { id, name, text, whole } = content
  const call = { id, name, ...parseArguments(whole ?? text) }
  return isClosed || hasArguments(content) ? call : withheld({ ...call, argumentsRaw: text }, neverClosed)
}

export const hasArguments = ({ text, whole }: CallContent): boolean =>
  whole !== undefined || text.trim() !== ''

/** The server's own tools and their results are worth showing, the rest is not. */
export const isServerActivity = ({ block }: OpaqueContent): boolean => {
  const type = stringAt(block, 'type') ?? ''
  return /^(server_tool_use|mcp_tool_use|container_upload)$|_tool_result$/.test(type)
}

/** The replay data of a response; undefined when plain text and calls say it all. */
export const replayOf = (
  contents: readonly Content[],
  provider: string,
  container: string | undefined,
): JsonObject | undefined => {
  if (container === undefined && !contents.some(mustBeReplayed)) return undefined
  const blocks = contents.flatMap((content): JsonObject[] => {
    if (content.kind === 'opaque') return isReplayable(content) ? [opaqueBlock(content)] : []
    if (content.kind === 'call') return [callEntry(content.order, content.extras)]
    return content.length > 0 ? [textEntry(content.length, content.citations)] : []
  })
  return { provider, blocks, ...(container !== undefined && { container }) }
}

/** A call from inside the provider's sandbox says so in `caller`; without that it would be taken for another. */
const mustBeReplayed = (content: Content): boolean => {
  if (content.kind === 'opaque') return isReplayable(content)
  // A citation of a search is encrypted, and Claude needs it to cite the same page again.
  if (content.kind === 'text') return content.citations.some(isEncrypted)
  const { caller, ...others } = content.extras
  const isDirect = caller === undefined || (isJsonObject(caller) && caller.type === 'direct')
  return !isDirect || Object.keys(others).length > 0
}

const isEncrypted = (citation: JsonValue): boolean =>
  isJsonObject(citation) && stringAt(citation, 'encrypted_index') !== undefined

const isReplayable = ({ block }: OpaqueContent): boolean =>
  typeof block.type === 'string' && block.type !== 'tool_use'
