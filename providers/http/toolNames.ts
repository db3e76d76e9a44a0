import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import type { ChatMessage, Part } from '../../src/messages/messages.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import type { Delta } from '../../src/model/delta.ts'
import { arrayAt, stringAt } from '../wire/json.ts'
import { wireIdsOf } from '../wire/request.ts'

// Names of tools, and ids of calls, that a server refuses. Every server takes letters, digits, `_` and `-`, at most 64, a letter first.

const plain = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/
const longestName = 64

export const hasOddNames = (request: ModelRequest): boolean =>
  namesIn(request).some((name) => !plain.test(name))

/** The names of the tools, and of those that only the history has. */
const namesIn = ({ tools = [], messages }: ModelRequest): string[] => [
  ...new Set([
    ...tools.map(({ name }) => name),
    ...messages.flatMap(({ parts }) =>
      parts.flatMap((part) => ('name' in part && isOfTool(part) ? [part.name] : [])),
    ),
  ]),
]

const isOfTool = (part: Part): part is Extract<Part, { type: 'toolCall' | 'toolResult' }> =>
  part.type === 'toolCall' || part.type === 'toolResult'

/** The plain name of each tool whose own is refused. Two tools never get the same. */
export const plainNames = (request: ModelRequest): ReadonlyMap<string, string> => {
  const names = namesIn(request)
  const taken = new Set(names.filter((name) => plain.test(name)))
  const made = new Map<string, string>()
  for (const name of names) {
    if (plain.test(name)) continue
    const letters = name.replace(/[^a-zA-Z0-9_-]/g, '_').replace(/^(?![a-zA-Z_])/, '_')
    let unique = letters.slice(0, longestName)
    for (let count = 2; taken.has(unique); count++) {
      unique = `${letters.slice(0, longestName - 1 - String(count).length)}_${count}`
    }
    taken.add(unique)
    made.set(name, unique)
  }
  return made
}

/** A request in which every tool has a plain name: in the list, in the choice and in the history. */
export const withPlainNames = (request: ModelRequest): ModelRequest => {
  const names = plainNames(request)
  if (names.size === 0) return request
  const renamed = (name: string): string => names.get(name) ?? name
  const { tools, toolChoice, messages } = request
  return {
    ...request,
    ...(tools && { tools: tools.map((tool) => ({ ...tool, name: renamed(tool.name) })) }),
    ...(typeof toolChoice === 'object' && { toolChoice: { tool: renamed(toolChoice.tool) } }),
    messages: messages.map(
      (message): ChatMessage => ({
        ...message,
        parts: message.parts.map((part) => (isOfTool(part) ? { ...part, name: renamed(part.name) } : part)),
      }),
    ),
  }
}

/** The deltas of an answer with the names that the tools have in the agent. */
export const withOwnNames = (
  deltas: readonly Delta[],
  names: ReadonlyMap<string, string>,
): readonly Delta[] => {
  if (names.size === 0) return deltas
  const own = (name: string): string => names.get(name) ?? name
  return deltas.map((delta): Delta => {
    if (delta.type === 'toolCall') return { ...delta, call: { ...delta.call, name: own(delta.call.name) } }
    return delta.type === 'toolDelta' && delta.name !== undefined
      ? { ...delta, name: own(delta.name) }
      : delta
  })
}

/** The ids that Mistral's models want, wherever they are served; every server takes them. */
const shortId = wireIdsOf([], { pattern: /^[a-zA-Z0-9]{9}$/, length: 9 })

/** A body of chat completions with other ids for its calls and their results; the same if there are none to change. */
export const withShortIds = (body: JsonObject): JsonObject => {
  const messages = (arrayAt(body, 'messages') ?? []).map((message) => {
    if (!isJsonObject(message)) return message
    const id = stringAt(message, 'tool_call_id')
    const calls = arrayAt(message, 'tool_calls')?.map(withShortId)
    return {
      ...message,
      ...(id !== undefined && { tool_call_id: shortId(id) }),
      ...(calls && { tool_calls: calls }),
    }
  })
  return JSON.stringify(messages) === JSON.stringify(body.messages) ? body : { ...body, messages }
}

const withShortId = (call: JsonValue): JsonValue =>
  isJsonObject(call) && typeof call.id === 'string' ? { ...call, id: shortId(call.id) } : call
