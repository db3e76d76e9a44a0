import { isJsonObject, type JsonObject, type JsonValue, ownValue, stableJson } from '../../messages/json.ts'
import { parseArguments } from '../../model/toolArguments.ts'
import { errorIn, type RecordedCall, type RecordedResult } from '../recordedCalls.ts'
import type { TapedExchange } from './tape.ts'

/**
 * The tool calls of a tape, with their results. Both are found in the requests, where each protocol sends the
 * conversation back in its own way; a server that stores it gets only the results, and the calls are those that it has
 * sent.
 */
export const callsOnTape = (exchanges: readonly TapedExchange[]): RecordedCall[] => {
  const sent = new Map<string, WireCall>()
  let conversations: RecordedCall[][] = []
  for (const exchange of exchanges) {
    const found = callsIn(exchange.request.body, sent)
    // A conversation grows from request to request, and is sent from its start each time.
    conversations = [...conversations.filter((known) => !isBeginning(known, found)), found]
    for (const call of callsAnswered(exchange)) sent.set(call.id, call)
  }
  return conversations.flat()
}

const isBeginning = (of: readonly RecordedCall[], whole: readonly RecordedCall[]): boolean =>
  of.length <= whole.length && of.every((call, at) => stableJson(call) === stableJson(whole[at]))

type WireCall = { id: string; name: string; arguments: JsonValue | undefined }
type WireResult = { id: string; name: string; result: RecordedResult }

const callsIn = (body: JsonValue, sent: ReadonlyMap<string, WireCall>): RecordedCall[] => {
  if (!isJsonObject(body)) return []
  const waiting: WireCall[] = []
  const recorded: RecordedCall[] = []
  for (const item of itemsIn([body.messages, body.input, body.contents])) {
    const call = callOf(item)
    if (call) waiting.push(call)
    const answered = resultOf(item)
    if (!answered) continue
    // Where there are no ids, results come in the order of the calls.
    const at = waiting.findIndex(({ id, name }) =>
      answered.id === '' ? name === answered.name : id === answered.id,
    )
    const asked = at < 0 ? sent.get(answered.id) : waiting.splice(at, 1)[0]
    const { arguments: args, argumentsError } = parseArguments(asked?.arguments)
    if (asked && argumentsError === undefined)
      recorded.push({ name: asked.name, arguments: args, result: answered.result })
  }
  return recorded
}

/** Calls and results, in order, at any depth. */
const itemsIn = (value: unknown): JsonObject[] => {
  if (Array.isArray(value)) return value.flatMap(itemsIn)
  if (!isJsonObject(value)) return []
  return callOf(value) || resultOf(value) ? [value] : Object.values(value).flatMap(itemsIn)
}

const callOf = (item: JsonObject): WireCall | undefined => {
  const inner = objectAt(item, 'function')
  // OpenAI's chat completions, Mistral, Cohere, Ollama. What a tool is declared with has no arguments.
  if (inner && 'arguments' in inner)
    return { id: textAt(item, 'id'), name: textAt(inner, 'name'), arguments: inner.arguments }
  const google = objectAt(item, 'functionCall')
  if (google) return { id: textAt(google, 'id'), name: textAt(google, 'name'), arguments: google.args }
  if (item.type === 'tool_use')
    return { id: textAt(item, 'id'), name: textAt(item, 'name'), arguments: item.input }
  if (item.type === 'function_call')
    return { id: textAt(item, 'call_id'), name: textAt(item, 'name'), arguments: item.arguments }
  return undefined
}

const resultOf = (item: JsonObject): WireResult | undefined => {
  const google = objectAt(item, 'functionResponse')
  if (google)
    return {
      id: textAt(google, 'id'),
      name: textAt(google, 'name'),
      result: said(googleText(google.response)),
    }
  if (item.role === 'tool')
    return {
      id: textAt(item, 'tool_call_id'),
      name: textAt(item, 'tool_name'),
      result: said(textOf(item.content)),
    }
  if (item.type === 'function_call_output')
    return { id: textAt(item, 'call_id'), name: '', result: said(textOf(item.output)) }
  if (item.type !== 'tool_result') return undefined
  const text = textOf(item.content)
  return { id: textAt(item, 'tool_use_id'), name: '', result: { text, isError: item.is_error === true } }
}

/** Most protocols do not say that a tool failed: the form of its result does. */
const said = (text: string): RecordedResult => ({ text, isError: errorIn(text) !== undefined })

/** Files are left out: there they are the provider's. */
const textOf = (content: JsonValue | undefined): string => {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return content === undefined ? '' : JSON.stringify(content)
  return content.flatMap((block) => (isJsonObject(block) ? [textAt(block, 'text')] : [])).join('\n')
}

/** Gemini takes objects alone: everything else is wrapped. */
const googleText = (response: JsonValue | undefined): string => {
  const isWrapped = isJsonObject(response) && Object.keys(response).join() === 'result'
  return textOf(isWrapped ? response.result : response)
}

/** The calls in an answer of the Responses API. */
const callsAnswered = ({ reads }: TapedExchange): WireCall[] => {
  const text = reads.map((read) => ('text' in read ? read.text : '')).join('')
  if (!text.includes('"function_call"')) return []
  return text.split('\n').flatMap((line) => {
    try {
      return itemsIn(JSON.parse(line.replace(/^data:/, ''))).flatMap((item) => callOf(item) ?? [])
    } catch {
      return []
    }
  })
}

const objectAt = (object: JsonObject, key: string): JsonObject | undefined => {
  const value = ownValue(object, key)
  return isJsonObject(value) ? value : undefined
}

const textAt = (object: JsonObject, key: string): string => {
  const value = ownValue(object, key)
  return typeof value === 'string' ? value : ''
}
