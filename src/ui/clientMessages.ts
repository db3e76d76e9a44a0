import { isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'
import {
  type ChatMessage,
  type DataPart,
  type LinkPart,
  type Part,
  type ToolCallPart,
  type ToolResultPart,
  textOf,
  toolCallsOf,
} from '../messages/messages.ts'

/** A message as a client sends it, with the results of its calls. */
export type ClientMessage = {
  role: 'user' | 'model'
  parts: Part[]
  results?: ReadonlyMap<string, ToolResultPart>
  metadata?: JsonObject
}

/**
 * The conversation of a client in the form that models need: user and model alternate, each id is used once, and every
 * call has a result. A call without a result did not run, even if the client says that it did, and does not run now.
 */
export const historyOf = (messages: readonly ClientMessage[]): ChatMessage[] => {
  const history: ChatMessage[] = []
  const seen = new Set<string>()
  for (const { role, parts, results, metadata } of messages) {
    const fresh = parts.filter((part) => part.type !== 'toolCall' || isFresh(part, seen))
    if (fresh.length === 0) continue
    add(history, role, fresh, metadata)
    const calls = toolCallsOf({ role, parts: fresh })
    if (calls.length > 0)
      add(
        history,
        'user',
        calls.map((call) => resultOf(call, results)),
      )
  }
  return history
}

/** The texts of the client's prompts. */
export const promptsIn = (messages: readonly ClientMessage[]): string[] =>
  messages.flatMap((message) => (message.role === 'user' ? [textOf(message)] : []))

const isFresh = ({ id }: ToolCallPart, seen: Set<string>): boolean => {
  if (id === '' || seen.has(id)) return false
  seen.add(id)
  return true
}

const add = (
  history: ChatMessage[],
  role: ChatMessage['role'],
  parts: Part[],
  metadata?: JsonObject,
): void => {
  const last = history.at(-1)
  if (last?.role !== role) history.push({ role, parts: [...parts], ...(metadata && { metadata }) })
  else {
    for (const part of parts) last.parts.push(part)
    if (metadata) last.metadata = { ...last.metadata, ...metadata }
  }
}

const resultOf = ({ id, name }: ToolCallPart, results: ClientMessage['results']): ToolResultPart =>
  results?.get(id) ?? {
    type: 'toolResult',
    id,
    name,
    result: JSON.stringify({ error: 'This call did not run: no decision was made on it.' }),
    isError: true,
  }

/** A file that a client names by its URL: the bytes of a data URL, or a link that the model follows. */
export const mediaPart = (url: string, mimeType?: string, name?: string): DataPart | LinkPart | undefined => {
  const named = name === undefined ? {} : { name }
  const comma = url.indexOf(',')
  // Checked piece by piece: a pattern over megabytes of base64 would be slow.
  if (/^data:/i.test(url)) {
    const [type = '', ...settings] = url.slice(5, comma).split(';')
    if (comma < 0 || comma > 200 || settings.at(-1)?.toLowerCase() !== 'base64') return undefined
    const given = mimeType ?? (type === '' ? 'application/octet-stream' : type)
    return { type: 'data', mimeType: given, data: url.slice(comma + 1), ...named }
  }
  if (!/^https?:\/\//i.test(url)) return undefined
  return { type: 'link', url, ...(mimeType !== undefined && { mimeType }), ...named }
}

/** The parts of a text: none if it is empty. */
export const textParts = (text: string): Part[] => (text === '' ? [] : [{ type: 'text', text }])

/** A tool as a client describes it. */
export type ClientTool = { name: string; description: string; parameters: JsonObject }

/** Reads the description of a tool. A missing name is refused later, like a name that is not allowed. */
export const readClientTool = ({ name, description, parameters }: JsonObject): ClientTool => ({
  name: stringOr('', name),
  description: stringOr('', description),
  parameters: isJsonObject(parameters) ? parameters : { type: 'object', properties: {} },
})

/** The objects in a list, or none if the value is not a list. */
export const objectsIn = (value: JsonValue | undefined): JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : []

export const stringOr = <Otherwise>(
  otherwise: Otherwise,
  value: JsonValue | undefined,
): string | Otherwise => (typeof value === 'string' ? value : otherwise)
