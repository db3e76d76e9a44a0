import { isJsonObject, type JsonObject, type JsonValue } from '../../messages/json.ts'
import {
  type ChatMessage,
  type Part,
  type ToolCallPart,
  type ToolResultPart,
  textOf,
  toolCallsOf,
  toolResultsOf,
} from '../../messages/messages.ts'
import { parseArguments } from '../../model/toolArguments.ts'
import {
  type ClientMessage,
  type ClientTool,
  historyOf,
  mediaPart,
  objectsIn,
  readClientTool,
  stringOr,
  textParts,
} from '../clientMessages.ts'
import { HttpError } from '../request.ts'

/** The request of a client of the OpenAI API, in either of its two forms. */
export type OpenaiRequest = {
  model: string
  prompt: Part[]
  history: ChatMessage[]
  tools: ClientTool[]
  isStream: boolean
  /** The shape of the answer. */
  schema: JsonObject | undefined
}

/** Reads a request to `/v1/chat/completions`. */
export const readChatRequest = (body: JsonObject): OpenaiRequest => {
  if (typeof body.n === 'number' && body.n > 1) throw unsupported('n', 'There is only one answer.')
  const { response_format: format } = body
  const { type, json_schema: described } = isJsonObject(format) ? format : {}
  return requestOf(body, {
    items: list(body.messages, 'messages'),
    tools: list(body.tools ?? [], 'tools').map(chatTool),
    schema: schemaOf(type, isJsonObject(described) ? described : {}, 'response_format'),
  })
}

/** Reads a request to `/v1/responses`, which continues a conversation that was stored. */
export const readResponsesRequest = (body: JsonObject, before: readonly ChatMessage[]): OpenaiRequest => {
  if (body.background === true) throw unsupported('background', 'Ask for a stream.')
  const format = isJsonObject(body.text) && isJsonObject(body.text.format) ? body.text.format : {}
  const { input, instructions } = body
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : list(input, 'input')
  const all = typeof instructions === 'string' ? [{ role: 'system', content: instructions }, ...items] : items
  return requestOf(body, {
    before,
    items: all,
    tools: list(body.tools ?? [], 'tools').map(responsesTool),
    schema: schemaOf(format.type, format, 'text.format'),
  })
}

type ReadParts = Pick<OpenaiRequest, 'tools' | 'schema'> & {
  items: readonly JsonObject[]
  before?: readonly ChatMessage[]
}

const requestOf = (
  body: JsonObject,
  { items, tools, schema, before: earlier = [] }: ReadParts,
): OpenaiRequest => {
  const { model, stream } = body
  if (typeof model !== 'string') throw new HttpError(400, 'model must be a string.')
  // The last answer is read with the items: they may have the results of its calls.
  const answer = earlier.at(-1)
  const { system, messages } = readItems(items, answer?.role === 'model' ? answer : undefined)
  const history = [...(answer?.role === 'model' ? earlier.slice(0, -1) : earlier), ...historyOf(messages)]
  const last = history.at(-1)
  if (last?.role !== 'user')
    throw new HttpError(400, 'The last message must be from the user or a tool, and must not be empty.')
  // Results of tools are answered as they are.
  const isPrompt = toolResultsOf(last).length === 0
  const before = isPrompt ? history.slice(0, -1) : history
  return {
    model,
    prompt: isPrompt ? last.parts : [],
    history: [...system, ...before],
    tools,
    isStream: stream === true,
    schema,
  }
}

type Message = ClientMessage & { results: Map<string, ToolResultPart>; calls: Map<unknown, ToolCallPart> }

const readItems = (
  items: readonly JsonObject[],
  answered: ChatMessage | undefined,
): { system: ChatMessage[]; messages: Message[] } => {
  const system: ChatMessage[] = []
  const messages: Message[] = answered ? [storedAnswer(answered)] : []
  const add = (role: Message['role'], parts: Part[]) => {
    const last = messages.at(-1)
    // The calls of an answer may come one by one, and all their results after them.
    const isPart = role === 'model' && last?.role === 'model' && last.results.size === 0
    const message: Message = isPart ? last : { role, parts: [], results: new Map(), calls: new Map() }
    if (message !== last) messages.push(message)
    for (const part of parts) {
      message.parts.push(part)
      if (part.type === 'toolCall') message.calls.set(part.id, part)
    }
  }
  for (const item of items) {
    if (item.role === 'system' || item.role === 'developer')
      system.push({ role: 'system', parts: partsOf(item.content) })
    else if (item.role === 'user') add('user', partsOf(item.content))
    else if (item.role === 'assistant')
      add('model', [...partsOf(item.content), ...chatCalls(item.tool_calls)])
    else if (item.type === 'function_call') add('model', [callOf(item.call_id, item.name, item.arguments)])
    else if (item.role === 'tool') addResult(messages, item.tool_call_id, item.content)
    else if (item.type === 'function_call_output') addResult(messages, item.call_id, item.output)
    // Thoughts of the model have no form here.
    else if (item.type !== 'reasoning')
      throw new HttpError(
        400,
        `A message of type ${JSON.stringify(item.type ?? item.role)} is not supported.`,
      )
  }
  return { system, messages }
}

const storedAnswer = (message: ChatMessage): Message => ({
  role: 'model',
  parts: message.parts,
  results: new Map(),
  calls: new Map(toolCallsOf(message).map((call) => [call.id, call])),
  ...(message.metadata && { metadata: message.metadata }),
})

const addResult = (
  messages: readonly Message[],
  id: JsonValue | undefined,
  content: JsonValue | undefined,
): void => {
  const last = messages.at(-1)
  const call = last?.calls.get(id)
  if (!call) return
  const result = textOf({ role: 'user', parts: partsOf(content) })
  last?.results.set(call.id, { type: 'toolResult', id: call.id, name: call.name, result })
}

const chatCalls = (calls: JsonValue | undefined): Part[] =>
  objectsIn(calls).flatMap(({ id, function: called }) =>
    isJsonObject(called) ? [callOf(id, called.name, called.arguments)] : [],
  )

const callOf = (
  id: JsonValue | undefined,
  name: JsonValue | undefined,
  args: JsonValue | undefined,
): Part => ({
  type: 'toolCall',
  id: stringOr('', id),
  name: stringOr('', name),
  arguments: parseArguments(stringOr(null, args)).arguments,
})

const partsOf = (content: JsonValue | undefined): Part[] => {
  return typeof content === 'string' ? textParts(content) : objectsIn(content).flatMap(partOf)
}

const partOf = (part: JsonObject): Part[] => {
  const { type, text } = part
  if (typeof text === 'string') return textParts(text)
  const media =
    type === 'image_url'
      ? fileAt(isJsonObject(part.image_url) ? part.image_url.url : part.image_url)
      : type === 'input_image'
        ? fileAt(part.image_url)
        : type === 'input_audio' && isJsonObject(part.input_audio)
          ? audioOf(part.input_audio)
          : type === 'file' && isJsonObject(part.file)
            ? fileAt(part.file.file_data, part.file.filename)
            : type === 'input_file'
              ? fileAt(part.file_data ?? part.file_url, part.filename)
              : undefined
  if (!media) throw new HttpError(400, `A part of type ${JSON.stringify(type)} is not supported.`)
  return [media]
}

const fileAt = (url: JsonValue | undefined, name?: JsonValue): Part | undefined =>
  typeof url === 'string' ? mediaPart(url, undefined, stringOr(undefined, name)) : undefined

const audioOf = ({ data, format }: JsonObject): Part | undefined =>
  typeof data === 'string' && typeof format === 'string'
    ? { type: 'data', mimeType: `audio/${format}`, data }
    : undefined

const chatTool = ({ type, function: described }: JsonObject): ClientTool => {
  if (type === 'function' && isJsonObject(described)) return readClientTool(described)
  throw unsupported('tools', 'Tools must be functions.')
}

const responsesTool = (described: JsonObject): ClientTool => {
  if (described.type === 'function') return readClientTool(described)
  throw unsupported('tools', 'Tools must be functions.')
}

/** The longest schema of an answer, in characters. */
const longestSchema = 64_000

const schemaOf = (
  type: JsonValue | undefined,
  { schema }: JsonObject,
  name: string,
): JsonObject | undefined => {
  if (type === undefined || type === 'text') return undefined
  if (type === 'json_object') return { type: 'object' }
  if (type !== 'json_schema' || !isJsonObject(schema))
    throw unsupported(name, 'Use text, json_object, or json_schema with a schema.')
  if (JSON.stringify(schema).length > longestSchema)
    throw new HttpError(400, `The schema of ${name} has more than ${longestSchema} characters.`)
  return schema
}

const list = (value: JsonValue | undefined, name: string): JsonObject[] => {
  if (!Array.isArray(value)) throw new HttpError(400, `${name} must be a list.`)
  return value.filter(isJsonObject)
}

const unsupported = (name: string, reason: string) =>
  new HttpError(400, `${name} is not supported. ${reason}`, 'unsupported_parameter')
