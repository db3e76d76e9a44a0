import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import type { DataPart } from '../../src/messages/messages.ts'
import type { Delta, WireToolCall } from '../../src/model/delta.ts'
import { parseArguments } from '../../src/model/toolArguments.ts'
import { neverClosed, toolDelta, withheld } from '../wire/decoder.ts'
import { arrayAt, numberAt, stringAt } from '../wire/json.ts'
import { clientCallOf } from './clientTools.ts'
import type { OutputItem } from './outputItems.ts'

/** A piece of what the model wrote, and where it goes; a whole repeats what its pieces may have had. */
export type Piece = { kind: 'text' | 'refusal' | 'thinking'; text: string; isWhole: boolean }

type PieceEvent = { kind: Piece['kind']; field: string; isWhole: boolean }

const pieceEvents = new Map<string, PieceEvent>([
  ['response.output_text.delta', { kind: 'text', field: 'delta', isWhole: false }],
  ['response.output_text.done', { kind: 'text', field: 'text', isWhole: true }],
  ['response.refusal.delta', { kind: 'refusal', field: 'delta', isWhole: false }],
  ['response.refusal.done', { kind: 'refusal', field: 'refusal', isWhole: true }],
  ['response.reasoning_summary_text.delta', { kind: 'thinking', field: 'delta', isWhole: false }],
  ['response.reasoning_summary_text.done', { kind: 'thinking', field: 'text', isWhole: true }],
  ['response.reasoning_text.delta', { kind: 'thinking', field: 'delta', isWhole: false }],
  ['response.reasoning_text.done', { kind: 'thinking', field: 'text', isWhole: true }],
])

/** The piece that an event adds to the text, the refusal or the thinking; undefined for events about other things. */
export const pieceIn = (type: string, event: JsonObject): Piece | undefined => {
  if (type === 'response.content_part.done' || type === 'response.reasoning_summary_part.done') {
    return pieceOf(event.part)
  }
  const known = pieceEvents.get(type)
  return known && { kind: known.kind, text: stringAt(event, known.field) ?? '', isWhole: known.isWhole }
}

/** Content and summary parts are counted apart; both may be in one reasoning item. */
export const partKey = (event: JsonObject): number => {
  const summary = numberAt(event, 'summary_index')
  return summary === undefined ? (numberAt(event, 'content_index') ?? 0) : -1 - summary
}

const pieceOf = (part: JsonValue | undefined): Piece | undefined => {
  if (!isJsonObject(part)) return undefined
  switch (part.type) {
    case 'output_text':
      return whole('text', stringAt(part, 'text'))
    case 'refusal':
      return whole('refusal', stringAt(part, 'refusal'))
    case 'summary_text':
    case 'reasoning_text':
      return whole('thinking', stringAt(part, 'text'))
    default:
      return undefined
  }
}

const whole = (kind: Piece['kind'], text: string | undefined): Piece | undefined =>
  text ? { kind, text, isWhole: true } : undefined

/** Everything a whole message or reasoning item says, in order. */
export const piecesOf = (item: JsonObject): Piece[] =>
  [...(arrayAt(item, 'summary') ?? []), ...(arrayAt(item, 'content') ?? [])]
    .map(pieceOf)
    .filter((found) => found !== undefined)

export const annotationsOf = (item: JsonObject): JsonObject[] =>
  (arrayAt(item, 'content') ?? [])
    .filter(isJsonObject)
    .flatMap((part) => arrayAt(part, 'annotations') ?? [])
    .filter(isJsonObject)

/** Tools that run at the provider: everything that is called or listed and is not ours to answer. */
export const isServerTool = (type: string): boolean => /_call$|_output$|^mcp_/.test(type)

/** The picture of an image generation call, apart from its bytes an ordinary server tool. */
export const pictureOf = (item: JsonObject): DataPart | undefined => {
  const data = item.type === 'image_generation_call' ? stringAt(item, 'result') : undefined
  if (!data) return undefined
  const format = stringAt(item, 'output_format') ?? 'png'
  return { type: 'data', mimeType: `image/${/^\w+$/.test(format) ? format : 'png'}`, data }
}

export const withoutPicture = (item: JsonObject): JsonObject => {
  if (item.type !== 'image_generation_call') return item
  const { result: _, ...rest } = item
  return rest
}

/** The arguments of a function call, or the input of a custom one. */
export const argumentsIn = (item: JsonObject | undefined): unknown =>
  item?.type === 'custom_tool_call' ? item.input : item?.arguments

export const isWritten = (text: unknown): boolean => text !== undefined && text !== null && text !== ''

/** The whole call from the end event, else its pieces, else what the start event had. */
const writtenIn = (item: OutputItem): unknown =>
  [item.whole, item.pieces, argumentsIn(item.announced)].find(isWritten)

const isCutItem = (item: OutputItem): boolean => stringAt(item.done, 'status') === 'incomplete'

/** The call so far. One that was cut never runs, even if its arguments happen to be valid. */
export const callOf = (item: OutputItem, isCut = isCutItem(item)): WireToolCall => {
  const written = writtenIn(item)
  const clients = item.done && clientCallOf(item.done)
  if (clients) return { id: item.callId || item.id, ...clients }
  const call = { id: item.callId || item.id, name: item.name }
  if (isCut) {
    const argumentsRaw = typeof written === 'string' ? written : written ? JSON.stringify(written) : ''
    return withheld({ ...call, arguments: parseArguments(written).arguments, argumentsRaw }, neverClosed)
  }
  // A custom tool takes any text, so its one argument is that text.
  if (item.type === 'custom_tool_call') {
    return { ...call, arguments: { input: typeof written === 'string' ? written : '' } }
  }
  return { ...call, ...parseArguments(written) }
}

/**
 * The call of a response that ended. One without a done event is cut if the response is incomplete, if it is empty, or
 * if it takes any text: only arguments that are a whole object need no end event.
 */
export const callAtEnd = (item: OutputItem, isIncomplete: boolean): WireToolCall => {
  if (!item.isCall) return callOf(item)
  const isOpenEnded = item.type === 'custom_tool_call' || isOnlyNamed(item)
  return callOf(item, isCutItem(item) || (!isClosed(item) && (isIncomplete || isOpenEnded)))
}

/** The wire sent the whole call. */
const isClosed = (item: OutputItem): boolean => item.done !== undefined || item.whole !== undefined

/** A call that was started and never continued. */
export const isOnlyNamed = (item: OutputItem): boolean => !isClosed(item) && writtenIn(item) === undefined

/** True for a call that may be reported although the answer never came to its end. */
export const isComplete = (item: OutputItem): boolean => {
  const written = writtenIn(item)
  if (written === undefined || isCutItem(item)) return false
  return item.type === 'custom_tool_call'
    ? item.whole !== undefined
    : parseArguments(written).argumentsError === undefined
}

export const progressOf = (item: OutputItem, text: string): Delta =>
  toolDelta(item.callOrder, { id: item.callId, name: item.name }, text)
