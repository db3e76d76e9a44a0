import type { ErrorData } from '../../src/messages/errors.ts'
import { isJsonObject, type JsonObject, ownValue } from '../../src/messages/json.ts'
import type { Delta } from '../../src/model/delta.ts'
import { callDeltas, toolCallDelta, truncated, usageFrom } from '../wire/decoder.ts'
import { endReason } from '../wire/endWords.ts'
import { streamError } from '../wire/error.ts'
import { BadWireJson, numberAt, objectAt, parseWireObject, stringAt } from '../wire/json.ts'
import type { Decoder, Target, WireEvent } from '../wire/protocol.ts'
import { ToolCallAssembler, type ToolCallPiece } from '../wire/toolCallAssembler.ts'
import { cohereError } from './error.ts'
import type { CohereProfile } from './profile.ts'

/** Reads the events of a v2 chat stream; `message-end` is its last event; any form of `[DONE]` may follow. */
export const cohereDecoder = (target: Target<CohereProfile>): Decoder => {
  const calls = new ToolCallAssembler()
  let responseId = ''
  let toolPlan = ''
  let hasThought = false
  let isOver = false

  const fail = (error: ErrorData, raw?: string): Delta[] => {
    isOver = true
    // A plan is passed on as a whole or not at all: half of one would count as shown, and prevent the retry.
    return [
      ...calls.finishWhole().map(toolCallDelta),
      { type: 'error', error, ...(raw !== undefined && { raw }) },
    ]
  }

  const finish = (ending: JsonObject | undefined): Delta[] => {
    const usage = usageDeltas(objectAt(ending, 'usage'))
    const raw = stringAt(ending, 'finish_reason') || undefined
    const failure = endingError(raw, stringAt(ending, 'error'))
    if (failure) return [...usage, ...fail(failure, raw)]
    isOver = true
    const reason = endReason(raw, !calls.isEmpty)
    return [
      ...usage,
      ...planDeltas(),
      ...callDeltas(calls.finish({ isCut: reason === 'length', mustBeClosed: true }), reason),
      ...opaqueDeltas(),
      { type: 'finish', reason, ...(raw !== undefined && { raw }) },
    ]
  }

  const planDeltas = (): Delta[] => (toolPlan === '' ? [] : [{ type: 'metadata', metadata: { toolPlan } }])

  const opaqueDeltas = (): Delta[] => {
    if (calls.isEmpty || (toolPlan === '' && !hasThought)) return []
    const data: JsonObject = {
      provider: target.provider,
      ...(toolPlan !== '' && { toolPlan }),
      // The text of the thoughts is on the message already: here it is only noted that they are Cohere's own.
      ...(hasThought && { ownThinking: true }),
    }
    return [{ type: 'opaque', protocol: 'cohere', data }]
  }

  const contentDeltas = (content: JsonObject | undefined): Delta[] => {
    const thinking = stringAt(content, 'thinking')
    const text = stringAt(content, 'text')
    if (thinking) hasThought = true
    return [
      ...(thinking ? [{ type: 'thinking' as const, text: thinking }] : []),
      ...(text ? [{ type: 'text' as const, text }] : []),
    ]
  }

  const responseDeltas = (chunk: JsonObject): Delta[] => {
    const id = stringAt(chunk, 'id')
    if (!id || responseId !== '') return []
    responseId = id
    return [{ type: 'response', id }]
  }

  /** Reads the answer of a server that does not stream: the message itself. */
  const readWhole = (answer: JsonObject, message: JsonObject): Delta[] => {
    toolPlan += stringAt(message, 'tool_plan') ?? ''
    return [
      ...responseDeltas(answer),
      ...objectsAt(message, 'content').flatMap(contentDeltas),
      ...citationDeltas(message),
      ...objectsAt(message, 'tool_calls').map((call, index) => {
        const delta = calls.add(pieceOf(call, index))
        calls.close(index)
        return delta
      }),
      ...finish(answer),
    ]
  }

  const push = ({ event, data }: WireEvent): readonly Delta[] => {
    if (isOver || data === '[DONE]') return []
    const chunk = parseWireObject(data)
    if (chunk === undefined) return []
    if (chunk instanceof BadWireJson) return fail(chunk.error)
    const delta = objectAt(chunk, 'delta')
    const message = objectAt(delta, 'message')
    const index = numberAt(chunk, 'index')
    switch (stringAt(chunk, 'type') ?? event) {
      case 'message-start':
        return responseDeltas(chunk)
      case 'content-start':
      case 'content-delta':
        return contentDeltas(objectAt(message, 'content'))
      case 'tool-plan-delta':
        toolPlan += stringAt(message, 'tool_plan') ?? ''
        return [{ type: 'progress' }]
      case 'tool-call-start':
      case 'tool-call-delta':
        return objectsAt(message, 'tool_calls').map((piece) => calls.add(pieceOf(piece, index)))
      case 'tool-call-end':
        calls.close(index)
        return []
      case 'citation-start':
        return citationDeltas(message)
      case 'message-end':
        return finish(delta)
      case 'error':
      case undefined: {
        const whole = objectAt(chunk, 'message')
        if (whole && stringAt(chunk, 'finish_reason')) return readWhole(chunk, whole)
        const error = cohereError(chunk)
        return error ? fail(streamError(error)) : []
      }
      default:
        return []
    }
  }

  return { push, end: () => (isOver ? [] : fail(truncated('the message-end event'))) }
}

const citationDeltas = (message: JsonObject | undefined): Delta[] => {
  const citations = objectsAt(message, 'citations')
  return citations.length === 0 ? [] : [{ type: 'metadata', metadata: { citations } }]
}

/** The API puts one object under these plural names; some deployments wrap it in a list. */
const objectsAt = (message: JsonObject | undefined, key: string): JsonObject[] => {
  const value = message && ownValue(message, key)
  return (Array.isArray(value) ? value : [value]).filter((item) => isJsonObject(item))
}

const pieceOf = (piece: JsonObject, index: number | undefined): ToolCallPiece => {
  const called = objectAt(piece, 'function')
  return {
    index,
    id: stringAt(piece, 'id'),
    name: stringAt(called, 'name'),
    arguments: called && ownValue(called, 'arguments'),
  }
}

/** `tokens` is what the model saw and wrote; `billed_units`, which leave out Cohere's own prompt, are the substitute. */
const usageDeltas = (counts: JsonObject | undefined): Delta[] => {
  const tokens = objectAt(counts, 'tokens') ?? objectAt(counts, 'billed_units')
  const usage = usageFrom({
    input: numberAt(tokens, 'input_tokens'),
    output: numberAt(tokens, 'output_tokens'),
    cached: numberAt(counts, 'cached_tokens'),
    reasoning: numberAt(tokens, 'reasoning_tokens'),
  })
  return usage ? [{ type: 'usage', usage }] : []
}

/** A generation that broke off ends like one that did not, with a finish reason: only its value shows the difference. */
const endingError = (raw: string | undefined, problem: string | undefined): ErrorData | undefined => {
  if (raw === 'ERROR_TOXIC' || (raw !== 'ERROR' && raw !== 'TIMEOUT' && !problem)) return undefined
  const what = raw === 'TIMEOUT' ? 'took too long' : 'failed'
  return {
    name: 'ModelError',
    message: problem || `Cohere says that the generation ${what} (${raw}).`,
    code: raw ?? 'ERROR',
    retryable: true,
  }
}
