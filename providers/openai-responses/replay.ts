import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import { type ChatMessage, type ToolCallPart, textOf, toolCallsOf } from '../../src/messages/messages.ts'
import { arrayAt, numberAt, objectAt, stringAt } from '../wire/json.ts'
import { opaqueOf } from '../wire/request.ts'
import { isServerTool } from './itemContent.ts'
import type { OutputItem } from './outputItems.ts'

/**
 * The layout of an answer, from which its items are rebuilt (see `layoutOf`); empty if the message has them in this order
 * anyway. `calls` are the calls of the message.
 */
export const layoutFor = (items: readonly OutputItem[], calls: readonly OutputItem[]): JsonObject[] => {
  const orders = new Map(calls.map((call, order) => [call, order]))
  const layout: JsonObject[] = []
  let reasoning: JsonObject[] = []
  for (const item of items) {
    const entry = entryFor(item, orders)
    if (item.type === 'reasoning') reasoning.push(...(entry ? [entry] : []))
    else if (isKept(item.type)) {
      layout.push(...reasoning, ...(entry ? [entry] : []))
      reasoning = []
    }
    // Reasoning that led to a server-side tool goes with it: the tool's item is not sent back either.
    else if (!item.isCall && !orders.has(item) && isServerTool(item.type)) reasoning = []
    else if (entry) {
      layout.push(...reasoning, entry)
      reasoning = []
    }
  }
  return isPlain(layout) ? [] : layout
}

const entryFor = (item: OutputItem, orders: ReadonlyMap<OutputItem, number>): JsonObject | undefined => {
  if (item.type === 'reasoning') return encryptedReasoning(item.done)
  if (isKept(item.type)) return item.done && withoutAuthor(item.done)
  const order = orders.get(item)
  if (item.isCall)
    return order === undefined ? undefined : { type: item.type, call: order, ...placeOf(item.done) }
  if (order !== undefined && item.done) return { type: item.type, call: order, item: item.done }
  const phase = stringAt(item.done ?? item.announced, 'phase')
  if (item.type !== 'message' || item.textLength === 0) return undefined
  const gap = item.gap.length
  return {
    type: 'message',
    length: item.textLength,
    ...(gap > 0 && { gap }),
    ...(phase !== undefined && { phase }),
  }
}

/**
 * The items that go back as they came: the API refuses a call of a tool that was searched for without the search, and
 * forgets what it compacted without the compaction.
 */
const keptTypes: ReadonlySet<unknown> = new Set([
  'tool_search_call',
  'tool_search_output',
  'additional_tools',
  'program',
  'program_output',
  'compaction',
])

const isKept = (type: unknown): boolean => keptTypes.has(type)

const withoutAuthor = ({ created_by: _, ...item }: JsonObject): JsonObject => item

/** The namespace of the tool that was called, and the program that called it: the API asks for both again. */
const placeOf = (item: JsonObject | undefined): JsonObject => {
  const namespace = stringAt(item, 'namespace')
  const caller = objectAt(item, 'caller')
  return { ...(namespace !== undefined && { namespace }), ...(caller && { caller }) }
}

/** Reasoning is worth keeping only with its encrypted content: without it the item exists at the provider alone. */
const encryptedReasoning = (item: JsonObject | undefined): JsonObject | undefined => {
  const id = stringAt(item, 'id')
  const encrypted = stringAt(item, 'encrypted_content')
  if (id === undefined || !encrypted) return undefined
  const content = arrayAt(item, 'content') ?? []
  const summary = arrayAt(item, 'summary') ?? []
  return {
    type: 'reasoning',
    id,
    summary,
    ...(content.length > 0 && { content }),
    encrypted_content: encrypted,
  }
}

/** True for at most one message, then function calls: the order that a message has anyway. */
const isPlain = (layout: readonly JsonObject[]): boolean =>
  layout.every((entry, i) =>
    i === 0 && entry.type === 'message'
      ? !entry.phase
      : entry.type === 'function_call' && !entry.namespace && !entry.caller,
  )

export const protocolName = 'openai-responses'

/**
 * A model message is one text and its calls; the API's answer was a list of items. The layout is what is needed to
 * get from the one back to the other: reasoning items in full, the rest as references into the message
 * (`{ type: 'message', length, gap?, phase? }`, `{ type: 'function_call' | 'custom_tool_call', call }`). A call of a tool that
 * OpenAI defines is an item of its own kind, which is kept whole (`item`).
 * A message without a layout is its text followed by its calls.
 */
const layoutOf = (message: ChatMessage, provider: string): JsonObject[] =>
  (arrayAt(opaqueOf(message, protocolName, provider), 'layout') ?? []).filter(isJsonObject)

/** The items of a model message in the order the model wrote them. */
export const replayItems = (
  message: ChatMessage,
  provider: string,
  wireId: (id: string) => string,
): JsonObject[] => {
  const layout = layoutOf(message, provider)
  const calls = toolCallsOf(message)
  const types = callTypesIn(message, provider)
  const texts = textsIn(textOf(message), layout)
  const items: JsonObject[] = []
  let reasoning: JsonObject[] = []
  // The API refuses a reasoning item that nothing follows, so it waits for its follower.
  const add = (item: JsonObject) => {
    items.push(...reasoning, item)
    reasoning = []
  }
  const addCall = (call: ToolCallPart, entry?: JsonObject) => {
    const isCustom = types.get(call) === 'custom_tool_call'
    const item = isCustom ? customCall(call, wireId(call.id)) : functionCall(call, wireId(call.id))
    add({ ...item, ...placeOf(entry) })
  }

  const left = new Set(calls)
  if (texts.rest !== '') add(assistantMessage(texts.rest))
  for (const entry of layout) {
    const call = callAt(calls, entry)
    const text = texts.of.get(entry)
    const own = objectAt(entry, 'item')
    if (call && own) {
      if (left.delete(call)) add(clientItem(own, wireId(call.id)))
    } else if (entry.type === 'reasoning') {
      if (stringAt(entry, 'encrypted_content')) reasoning.push(entry)
    } else if (isKept(entry.type)) add(entry)
    else if (text) add(assistantMessage(text, stringAt(entry, 'phase')))
    else if (call && left.delete(call)) addCall(call, entry)
  }
  for (const call of left) addCall(call)
  return items
}

const clientItem = (item: JsonObject, callId: string): JsonObject => ({
  ...item,
  [item.type === 'mcp_approval_request' ? 'id' : 'call_id']: callId,
})

/** The item types of the calls that are not plain functions: their results have their own item types, too. */
export const callTypesIn = (message: ChatMessage, provider: string): Map<ToolCallPart, string> => {
  const calls = toolCallsOf(message)
  const types = new Map<ToolCallPart, string>()
  for (const entry of layoutOf(message, provider)) {
    const call = callAt(calls, entry)
    const type = stringAt(entry, 'type')
    if (call && type !== undefined && type !== 'function_call') types.set(call, type)
  }
  return types
}

/** The programs that made calls, by the ids of the calls: the results name them as well. */
export const callersIn = (message: ChatMessage, provider: string): [string, JsonObject][] => {
  const calls = toolCallsOf(message)
  return layoutOf(message, provider).flatMap((entry): [string, JsonObject][] => {
    const caller = objectAt(entry, 'caller')
    const call = callAt(calls, entry)
    return caller && call ? [[call.id, caller]] : []
  })
}

const callAt = (calls: ToolCallPart[], entry: JsonObject): ToolCallPart | undefined =>
  calls[numberAt(entry, 'call') ?? -1]

/** Cuts the text into its messages. Without any in the layout the text is `rest`, and comes first. */
const textsIn = (text: string, layout: JsonObject[]): { of: Map<JsonObject, string>; rest: string } => {
  const messages = layout.filter((entry) => entry.type === 'message')
  if (messages.length === 0) return { of: new Map(), rest: text }
  let start = 0
  const pieces = messages.map((entry, i): [JsonObject, string] => {
    start += numberAt(entry, 'gap') ?? 0
    // The last one takes what is left, so that nothing is lost if the text was changed in between.
    const end = i === messages.length - 1 ? text.length : start + (numberAt(entry, 'length') ?? 0)
    const piece = text.slice(start, end)
    start = end
    return [entry, piece]
  })
  return { of: new Map(pieces), rest: '' }
}

const assistantMessage = (text: string, phase?: string): JsonObject => ({
  type: 'message',
  role: 'assistant',
  content: text,
  ...(phase !== undefined && { phase }),
})

const functionCall = (call: ToolCallPart, callId: string): JsonObject => ({
  type: 'function_call',
  call_id: callId,
  name: call.name,
  arguments: call.argumentsError ? '{}' : (call.argumentsRaw ?? JSON.stringify(call.arguments)),
})

const customCall = (call: ToolCallPart, callId: string): JsonObject => ({
  type: 'custom_tool_call',
  call_id: callId,
  name: call.name,
  input: stringAt(call.arguments, 'input') ?? '',
})
