import type { ErrorData } from '../../src/messages/errors.ts'
import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import { commentaryGap } from '../../src/messages/messages.ts'
import type { FinishReason, Usage } from '../../src/messages/result.ts'
import type { Delta } from '../../src/model/delta.ts'
import { callDeltas, openaiUsage, toolCallDelta, truncated } from '../wire/decoder.ts'
import { endReason } from '../wire/endWords.ts'
import { streamError } from '../wire/error.ts'
import { arrayAt, BadWireJson, objectAt, parseWireObject, stringAt } from '../wire/json.ts'
import type { Decoder, Target, WireEvent } from '../wire/protocol.ts'
import { isClientCall } from './clientTools.ts'
import { responsesError } from './error.ts'
import {
  annotationsOf,
  argumentsIn,
  callAtEnd,
  callOf,
  isComplete,
  isOnlyNamed,
  isServerTool,
  isWritten,
  type Piece,
  partKey,
  pictureOf,
  pieceIn,
  piecesOf,
  progressOf,
  withoutPicture,
} from './itemContent.ts'
import { type OutputItem, OutputItems } from './outputItems.ts'
import { layoutFor, protocolName } from './replay.ts'

export const responsesDecoder = (target: Target): Decoder => new ResponsesDecoder(target.provider)

/** Invariant: everything in the answer is given once, whichever of the wire's copies of it comes first. */
class ResponsesDecoder implements Decoder {
  readonly #provider: string
  readonly #items = new OutputItems()
  #responseId = ''
  #refusal = ''
  /** The message whose text came last, and whether texts came in another order than their items. */
  #writing: OutputItem | undefined
  #isScrambled = false
  /** The reasoning item and the part of it whose text came last. */
  #thinking: { item: OutputItem; part: number } | undefined
  #isOver = false

  constructor(provider: string) {
    this.#provider = provider
  }

  push(event: WireEvent): readonly Delta[] {
    if (this.#isOver || event.data.startsWith('[DONE]')) return []
    const body = parseWireObject(event.data)
    if (body === undefined) return []
    if (body instanceof BadWireJson) return this.#fail(body.error)
    return this.#decode(stringAt(body, 'type') ?? event.event ?? '', body)
  }

  end(): readonly Delta[] {
    return this.#isOver ? [] : this.#fail(truncated('response.completed'))
  }

  #decode(type: string, body: JsonObject): readonly Delta[] {
    const piece = pieceIn(type, body)
    if (piece) return this.#write(piece, body)
    switch (type) {
      case 'response.function_call_arguments.delta':
        return this.#writeArguments('function_call', body)
      case 'response.custom_tool_call_input.delta':
        return this.#writeArguments('custom_tool_call', body)
      case 'response.function_call_arguments.done':
        return this.#completeArguments(this.#items.at('function_call', body), body, body.arguments)
      case 'response.custom_tool_call_input.done':
        return this.#completeArguments(this.#items.at('custom_tool_call', body), body, body.input)
      case 'response.output_item.added':
        return this.#announce(body, objectAt(body, 'item'))
      case 'response.output_item.done':
        return this.#finishItem(body, objectAt(body, 'item'))
      case 'response.output_text.annotation.added':
      // What the API called it in its first weeks, and some servers still do.
      case 'response.output_text_annotation.added':
        return this.#cite(body, objectAt(body, 'annotation'))
      default:
        return this.#follow(type, body)
    }
  }

  /** Events about the response as a whole, and errors in any shape. */
  #follow(type: string, body: JsonObject): readonly Delta[] {
    const response = objectAt(body, 'response') ?? (isResponse(body) ? body : {})
    const deltas: Delta[] = []
    const id = stringAt(response, 'id')
    if (id && this.#responseId === '') {
      this.#responseId = id
      deltas.push({ type: 'response', id })
    }
    const usage = usageOf(response)
    if (usage) deltas.push({ type: 'usage', usage })
    const end = endOf(type, response)
    if (end === 'failed' || end === 'cancelled')
      deltas.push(...this.#fail(failureOf(end, response, body), end))
    else if (end) deltas.push(...this.#finish(end, response))
    else {
      const error = errorIn(type, body)
      // The event `response.failed` that follows an error only repeats it.
      if (error) deltas.push(...this.#fail(error, 'failed'))
      // A server tool at work: it searches, it writes code, it paints.
      else if (typeof body.output_index === 'number') deltas.push({ type: 'progress' })
    }
    return deltas
  }

  /** Text of a part: pieces as they come, the whole only if the part never gave any. */
  #write(piece: Piece, event: JsonObject): readonly Delta[] {
    if (piece.text === '') return []
    const item = this.#items.at(piece.kind === 'thinking' ? 'reasoning' : 'message', event)
    const part = partKey(event)
    if (piece.isWhole && item.parts.has(part)) return []
    item.parts.add(part)
    return this.#emit(item, piece, part)
  }

  #emit(item: OutputItem, { kind, text }: Piece, part: number): readonly Delta[] {
    if (kind === 'thinking') {
      const last = this.#thinking
      const isNext = last !== undefined && (last.item !== item || last.part !== part)
      this.#thinking = { item, part }
      // Each part is a paragraph, and most begin with a heading.
      return [{ type: 'thinking', text: isNext ? `\n\n${text}` : text }]
    }
    if (kind === 'refusal') {
      this.#refusal += text
      return [{ type: 'progress' }]
    }
    const before = this.#writing
    if (before && before !== item) {
      this.#isScrambled ||= item.textLength > 0 || item.index < before.index
      if (before.isCommentary && !this.#isScrambled) item.gap = commentaryGap
    }
    const gap = item.textLength === 0 ? item.gap : ''
    this.#writing = item
    item.textLength += text.length
    if (item.isCommentary) item.commentary += text
    return [{ type: 'text', text: `${gap}${text}` }]
  }

  #cite(event: JsonObject, annotation: JsonObject | undefined): readonly Delta[] {
    if (!annotation) return []
    this.#items.at('message', event).isCited = true
    return [{ type: 'metadata', metadata: { citations: [annotation] } }]
  }

  #announce(event: JsonObject, announced: JsonObject | undefined): readonly Delta[] {
    if (!announced) return []
    const item = this.#items.announce(announced, event)
    item.announced = announced
    return [item.isCall ? progressOf(item, '') : { type: 'progress' }]
  }

  #writeArguments(type: string, event: JsonObject): readonly Delta[] {
    const piece = stringAt(event, 'delta')
    if (!piece) return []
    const item = this.#items.at(type, event)
    item.pieces += piece
    return [item.isCall ? progressOf(item, piece) : { type: 'progress' }]
  }

  #completeArguments(item: OutputItem, source: JsonObject, written: unknown): readonly Delta[] {
    item.name ||= stringAt(source, 'name') ?? ''
    if (!isWritten(written) || !item.isCall) return []
    const isNews = item.pieces === '' && item.whole === undefined
    item.whole = written
    return isNews ? [progressOf(item, typeof written === 'string' ? written : JSON.stringify(written))] : []
  }

  #finishItem(event: JsonObject, whole: JsonObject | undefined): readonly Delta[] {
    return whole ? this.#complete(this.#items.finish(whole, event), whole) : []
  }

  #complete(item: OutputItem, whole: JsonObject): readonly Delta[] {
    item.finish(whole)
    return item.isCall ? this.#completeArguments(item, whole, argumentsIn(whole)) : this.#deliver(item, whole)
  }

  /** Gives of a whole item what its pieces have not given. */
  #deliver(item: OutputItem, whole: JsonObject): readonly Delta[] {
    if (item.type !== 'message' && item.type !== 'reasoning') return this.#report(item, whole)
    const pieces = item.parts.size > 0 ? [] : piecesOf(whole)
    if (pieces.length > 0) item.parts.add(0)
    const deltas = [...pieces.flatMap((piece, part) => this.#emit(item, piece, part)), ...this.#remark(item)]
    const citations = item.isCited ? [] : annotationsOf(whole)
    if (citations.length === 0) return deltas
    item.isCited = true
    return [...deltas, { type: 'metadata', metadata: { citations } }]
  }

  /** Reports what the model said beside its answer, once it is whole. */
  #remark(item: OutputItem): readonly Delta[] {
    if (item.commentary === '' || item.isReported) return []
    item.isReported = true
    return [{ type: 'metadata', metadata: { commentary: [item.commentary] } }]
  }

  #report(item: OutputItem, whole: JsonObject): readonly Delta[] {
    // Calls that the client may have to run are sorted out at the end.
    if (item.isReported || !isServerTool(item.type) || isClientCall(item.type)) return []
    return this.#reported(item, whole)
  }

  #reported(item: OutputItem, whole: JsonObject): readonly Delta[] {
    item.isReported = true
    const picture = pictureOf(whole)
    const report: Delta = { type: 'metadata', metadata: { serverTools: [withoutPicture(whole)] } }
    return picture ? [{ type: 'part', part: picture }, report] : [report]
  }

  #finish(end: End, response: JsonObject): readonly Delta[] {
    this.#isOver = true
    const listed = (arrayAt(response, 'output') ?? []).filter(isJsonObject)
    const deltas = this.#items.pair(listed).flatMap(([item, whole]) => this.#complete(item, whole))
    const items = this.#items.inOrder()
    // What was announced and then never mentioned again is all there is of it.
    for (const item of items) {
      if (item.announced && !item.done && !item.isCall) deltas.push(...this.#deliver(item, item.announced))
    }
    if (this.#refusal !== '') deltas.push({ type: 'metadata', metadata: { refusal: this.#refusal } })
    const answered = new Set(items.filter(isOutput).map(({ callId }) => callId))
    const isOwn = (item: OutputItem) => item.isCall && item.hasContent
    const isClients = (item: OutputItem) =>
      isClientCall(item.type) && item.done !== undefined && !answered.has(item.callId)
    // A shell in a container of the provider is a server tool: its result is in the same answer.
    for (const item of items) {
      if (item.done && isClientCall(item.type) && !isClients(item))
        deltas.push(...this.#reported(item, item.done))
    }
    const calls = items.filter((item) => isOwn(item) || isClients(item))
    const reason = finishReasonOf(end, response, calls.length > 0, this.#refusal !== '')
    const wireCalls = calls.map((item) => callAtEnd(item, end === 'incomplete'))
    for (const delta of callDeltas(wireCalls, reason)) deltas.push(delta)
    deltas.push(...this.#opaque(end === 'completed' && response.store !== false, items, calls))
    deltas.push({ type: 'finish', reason, raw: stringAt(response, 'status') ?? end })
    return deltas
  }

  /** The id is committed only for a response that is whole and kept by the provider: only that can be continued. */
  #opaque(isKept: boolean, items: OutputItem[], calls: OutputItem[]): readonly Delta[] {
    const layout = this.#isScrambled ? [] : layoutFor(items, calls)
    const responseId = isKept && areAnswerable(calls) ? this.#responseId : ''
    if (responseId === '' && layout.length === 0) return []
    const data = {
      provider: this.#provider,
      ...(responseId !== '' && { responseId }),
      ...(layout.length > 0 && { layout }),
    }
    return [{ type: 'opaque', protocol: protocolName, data }]
  }

  #fail(error: ErrorData, raw?: string): readonly Delta[] {
    this.#isOver = true
    const calls = this.#items.inOrder().filter((item) => item.isCall && isComplete(item))
    return [
      ...calls.map((item) => toolCallDelta(callOf(item))),
      { type: 'error', error, ...(raw !== undefined && { raw }) },
    ]
  }
}

const isOutput = ({ type }: OutputItem): boolean => type.endsWith('_output')

/** The server finds a call it keeps by its `call_id` alone; without one for each, the calls must be sent along. */
const areAnswerable = (calls: readonly OutputItem[]): boolean => {
  const ids = new Set(calls.map((item) => item.callId))
  return ids.size === calls.length && !ids.has('') && !calls.some((item) => item.isCall && isOnlyNamed(item))
}

/** The end of a response. */
type End = 'completed' | 'incomplete' | 'failed' | 'cancelled'

const ends: readonly string[] = ['completed', 'incomplete', 'failed', 'cancelled'] satisfies End[]
const isEnd = (word: string | undefined): word is End => word !== undefined && ends.includes(word)

/** A server that does not stream answers with the response itself. */
const isResponse = (body: JsonObject): boolean =>
  body.object === 'response' || (Array.isArray(body.output) && typeof body.status === 'string')

/** The end that an event reports, or undefined while the response continues. Of the two, the status is more precise. */
const endOf = (type: string, response: JsonObject): End | undefined => {
  const status = stringAt(response, 'status')
  if (hasError(response) || status === 'failed') return 'failed'
  const word = type.startsWith('response.') ? type.slice('response.'.length) : undefined
  if (word === 'completed' || word === 'done') return isEnd(status) ? status : 'completed'
  if (isEnd(word)) return word
  return word === undefined && isEnd(status) ? status : undefined
}

const hasError = (response: JsonObject): boolean => Object.keys(objectAt(response, 'error') ?? {}).length > 0

/** The error of a response that failed; older servers put it beside the response. */
const failureOf = (end: End, response: JsonObject, event: JsonObject): ErrorData => {
  const reported = hasError(response)
    ? responsesError(response)
    : responsesError({ error: event.error ?? null })
  return streamError(reported ?? { message: `The response was ${end} by the provider.`, code: end })
}

/**
 * The error in an event that is not about a response. Events of unknown types are not errors, even if they have a message;
 * an untyped body with a message is one.
 */
const errorIn = (type: string, event: JsonObject): ErrorData | undefined => {
  const isErrorType = type === 'error' || type === 'response.error'
  const isOther = type.startsWith('response.') || (Object.hasOwn(event, 'type') && !event.error)
  if (isOther && !isErrorType) return undefined
  const error = responsesError(isErrorType ? { ...event, type: 'error' } : event)
  return error && streamError(error)
}

const finishReasonOf = (
  end: End,
  response: JsonObject,
  hasCalls: boolean,
  isRefused: boolean,
): FinishReason => {
  if (isRefused) return 'contentFilter'
  const cause = stringAt(objectAt(response, 'incomplete_details'), 'reason')
  if (cause === 'content_filter') return 'contentFilter'
  // The answer was cut, for one limit or another.
  if (end === 'incomplete' || cause === 'max_output_tokens') return 'length'
  return endReason(stringAt(response, 'status'), hasCalls)
}

/** OpenRouter gives the cost here as well. */
const usageOf = (response: JsonObject): Usage | undefined => openaiUsage(objectAt(response, 'usage'))
