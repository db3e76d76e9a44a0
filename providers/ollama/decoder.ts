import type { ErrorData } from '../../src/messages/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import type { Delta, WireToolCall } from '../../src/model/delta.ts'
import { parseArguments } from '../../src/model/toolArguments.ts'
import { callDeltas, toolCallDelta, toolDelta, truncated, usageFrom } from '../wire/decoder.ts'
import { endReason } from '../wire/endWords.ts'
import { streamError } from '../wire/error.ts'
import { arrayAt, BadWireJson, hasOnly, numberAt, objectAt, parseWireObject, stringAt } from '../wire/json.ts'
import type { Decoder, Target, WireError, WireEvent } from '../wire/protocol.ts'
import { ollamaError } from './error.ts'
import type { OllamaProfile } from './profile.ts'

/** Reads `/api/chat` lines. Every tool call on this wire is whole; its `index` repeats or runs on and says nothing. */
export const ollamaDecoder = (target: Target<OllamaProfile>): Decoder => {
  const calls: WireToolCall[] = []
  let hasThought = false
  let isOver = false

  const fail = (error: ErrorData): Delta[] => {
    isOver = true
    const complete = calls.filter((call) => call.argumentsError === undefined)
    return [...complete.map(toolCallDelta), { type: 'error', error }]
  }

  const finish = (chunk: JsonObject): Delta[] => {
    isOver = true
    const raw = stringAt(chunk, 'done_reason') || undefined
    // The cloud passes on the message of the server that runs the model.
    const reason = endReason(raw, calls.length > 0)
    const deltas = [...usageDeltas(chunk), ...callDeltas(calls, reason)]
    // The text of the thoughts is on the message already: here it is only noted that they are Ollama's own.
    if (hasThought && calls.length > 0) {
      deltas.push({
        type: 'opaque',
        protocol: 'ollama',
        data: { provider: target.provider, ownThinking: true },
      })
    }
    deltas.push({ type: 'finish', reason, ...(raw !== undefined && { raw }) })
    return deltas
  }

  const push = ({ data }: WireEvent): readonly Delta[] => {
    if (isOver) return []
    const chunk = parseWireObject(data)
    if (chunk === undefined) return []
    if (chunk instanceof BadWireJson) return fail(chunk.error)
    const message = objectAt(chunk, 'message')
    const wireError = message && hasOnly(chunk, answerFields) ? undefined : ollamaError(chunk)
    if (wireError) return fail(midStreamError(wireError))

    const deltas: Delta[] = []
    const thinking = stringAt(message, 'thinking')
    if (thinking) {
      hasThought = true
      deltas.push({ type: 'thinking', text: thinking })
    }
    const text = stringAt(message, 'content')
    if (text) deltas.push({ type: 'text', text })
    for (const entry of arrayAt(message, 'tool_calls') ?? []) {
      const call = callOf(entry)
      if (!call) continue
      deltas.push(toolDelta(calls.length, call, call.argumentsRaw ?? JSON.stringify(call.arguments)))
      calls.push(call)
    }
    if (chunk.done === true) deltas.push(...finish(chunk))
    return deltas
  }

  return { push, end: () => (isOver ? [] : fail(truncated('the line with "done": true'))) }
}

/** A line with these alone is part of an answer: no need to look for an error in it. */
const answerFields = new Set(['model', 'created_at', 'message', 'done'])

const callOf = (entry: JsonValue): WireToolCall | undefined => {
  if (!isJsonObject(entry)) return undefined
  const called = objectAt(entry, 'function')
  const name = stringAt(called, 'name')
  if (!called || !name) return undefined
  return { id: stringAt(entry, 'id') ?? '', name, ...parseArguments(called.arguments) }
}

const usageDeltas = (chunk: JsonObject): Delta[] => {
  const usage = usageFrom({
    input: numberAt(chunk, 'prompt_eval_count'),
    output: numberAt(chunk, 'eval_count'),
  })
  return usage ? [{ type: 'usage', usage }] : []
}

/** Problems with the request are reported before the first line; a crash or a garbled call after it may be temporary. */
const midStreamError = (error: WireError): ErrorData =>
  streamError(error, error.code === undefined ? { mayPass: true } : {})
