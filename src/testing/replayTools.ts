import { ToolExecutionError } from '../messages/errors.ts'
import {
  copyJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
  stableJson,
} from '../messages/json.ts'
import { messageRule } from '../messages/messageFlaw.ts'
import {
  type ChatMessage,
  type DataPart,
  type LinkPart,
  textPart,
  toolCallsOf,
  toolResultsOf,
} from '../messages/messages.ts'
import { checkValue, listOf } from '../messages/optionRules.ts'
import { parseArguments } from '../model/toolArguments.ts'
import { type AnyToolEntry, type Tool, toolRule, toolsByName } from '../tools/tool.ts'
import type { TapedExchange } from './tape/tape.ts'
import { readTape } from './tape/tape.ts'

/**
 * Copies tools, with results from a recording: the path of a tape, or the messages of a run. A call gets the result that
 * was recorded for its name and arguments; one that was made several times gets one result after the other, and then the
 * last one again. A call that was not recorded gets an error result. Nothing runs and nothing needs an approval. Make new
 * copies for each run.
 *
 * @example
 * const tools = replayTools('tapes/weather.json', [weather])
 * const agent = new Agent('anthropic:claude-sonnet-5-5', { tools }) // another model, the same weather
 */
export const replayTools = (
  recording: string | readonly ChatMessage[],
  tools: readonly AnyToolEntry[],
): Tool[] => {
  checkValue('The tools of replayTools', tools, listOf(toolRule))
  if (typeof recording !== 'string') checkValue('The messages of replayTools', recording, listOf(messageRule))
  const calls = typeof recording === 'string' ? callsOnTape(readTape(recording)) : callsOfMessages(recording)
  return [...toolsByName(tools).values()].map((tool) => replayed(tool, calls))
}

const replayed = (tool: Tool, calls: readonly RecordedCall[]): Tool => {
  let known: Promise<Map<string, RecordedResult[]>> | undefined
  return {
    ...tool,
    needsApproval: false,
    isAgent: false,
    async execute(args) {
      known ??= resultsOf(tool, calls)
      const results = (await known).get(stableJson(args)) ?? []
      const result = results.length > 1 ? results.shift() : results[0]
      if (result) return answer(result)
      const given = stableJson(args).slice(0, 500)
      throw new ToolExecutionError(`No result of ${tool.name} was recorded for these arguments: ${given}`)
    },
  }
}

/** Results by arguments as the tool gets them, after its schema has changed them. */
const resultsOf = async (
  tool: Tool,
  calls: readonly RecordedCall[],
): Promise<Map<string, RecordedResult[]>> => {
  const results = new Map<string, RecordedResult[]>()
  for (const call of calls) {
    const validation = call.name === tool.name ? await tool.validate(copyJson(call.arguments)) : undefined
    if (!validation?.ok) continue
    const key = stableJson(validation.value)
    results.set(key, [...(results.get(key) ?? []), call.result])
  }
  return results
}

const answer = ({ text, isError, parts = [] }: RecordedResult): unknown => {
  if (isError) throw new ToolExecutionError(errorIn(text) ?? text)
  return parts.length > 0 ? [textPart(text), ...parts] : text
}

/** The result that a tool returned. */
type RecordedResult = { text: string; isError: boolean; parts?: readonly (DataPart | LinkPart)[] }

/** A call of a tool, and what it answered. */
type RecordedCall = { name: string; arguments: JsonObject; result: RecordedResult }

/** The calls of a conversation that have a result, in order. */
const callsOfMessages = (messages: readonly ChatMessage[]): RecordedCall[] => {
  const results = new Map(messages.flatMap(toolResultsOf).map((result) => [result.id, result]))
  return messages.flatMap(toolCallsOf).flatMap((call) => {
    const found = results.get(call.id)
    if (!found || call.argumentsError !== undefined) return []
    const { result: text, isError = false, parts = [] } = found
    return [{ name: call.name, arguments: call.arguments, result: { text, isError, parts } }]
  })
}

/** The problem, if a text has the form of statewire's error results. */
export const errorIn = (text: string): string | undefined => {
  if (!text.startsWith('{"error":')) return undefined
  try {
    const value: unknown = JSON.parse(text)
    const isOnly = isJsonObject(value) && Object.keys(value).length === 1
    return isOnly && typeof value.error === 'string' ? value.error : undefined
  } catch {
    return undefined
  }
}

/**
 * The tool calls of a tape, with their results. Both are found in the requests, where each protocol sends the
 * conversation back in its own way; a server that stores it gets only the results, and the calls are those that it has
 * sent.
 */
const callsOnTape = (exchanges: readonly TapedExchange[]): RecordedCall[] => {
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
