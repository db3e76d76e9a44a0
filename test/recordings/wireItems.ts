import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'

/** A request body as a person reads it: what was said, called and answered, whichever protocol it is written in. */
export type WireItem =
  | { kind: 'system'; text: string }
  | { kind: 'user'; text: string; images: string[] }
  | { kind: 'model'; text: string }
  | { kind: 'call'; id: string; name: string; arguments: JsonValue }
  | { kind: 'result'; id: string; text: string }

export type WireTool = { name: string; description: string; schema: JsonObject }

export const object = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {})
export const list = (value: JsonValue | undefined): JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : []
export const string = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '')

const textIn = (content: JsonValue | undefined): string =>
  typeof content === 'string'
    ? content
    : list(content)
        .map((part) => string(part.text) || string(object(part.document).data) || string(part.output))
        .join('')

const parsed = (text: JsonValue | undefined): JsonValue => {
  if (typeof text !== 'string') return text ?? {}
  try {
    return JSON.parse(text === '' ? '{}' : text)
  } catch {
    return text
  }
}

const imageIn = (part: JsonObject): string =>
  string(part.image_url) ||
  string(object(part.image_url).url) ||
  string(object(part.source).data) ||
  string(object(part.inlineData).data) ||
  string(object(part.document).url)

const user = (content: JsonValue | undefined): WireItem => ({
  kind: 'user',
  text: textIn(content),
  images: list(content)
    .map(imageIn)
    .filter((image) => image !== ''),
})

/** Nobody sends a model message without a text for its text's sake. */
const model = (text: string): WireItem[] => (text === '' ? [] : [{ kind: 'model', text }])

const chatItems = (body: JsonObject): WireItem[] =>
  list(body.messages).flatMap((message): WireItem[] => {
    const text = textIn(message.content)
    switch (message.role) {
      case 'system':
      case 'developer':
        return [{ kind: 'system', text }]
      case 'assistant':
        return [
          ...model(text),
          ...list(message.tool_calls).map((call): WireItem => {
            const { name, arguments: args } = object(call.function)
            return { kind: 'call', id: string(call.id), name: string(name), arguments: parsed(args) }
          }),
        ]
      case 'tool':
        return [{ kind: 'result', id: string(message.tool_call_id), text }]
      default:
        return [user(message.content)]
    }
  })

const anthropicItems = (body: JsonObject): WireItem[] => [
  ...(body.system === undefined ? [] : [{ kind: 'system' as const, text: textIn(body.system) }]),
  ...list(body.messages).flatMap(({ role, content }): WireItem[] => {
    if (typeof content === 'string') return role === 'user' ? [user(content)] : model(content)
    return list(content).flatMap((block): WireItem[] => {
      if (block.type === 'tool_use')
        return [
          { kind: 'call', id: string(block.id), name: string(block.name), arguments: object(block.input) },
        ]
      if (block.type === 'tool_result')
        return [{ kind: 'result', id: string(block.tool_use_id), text: textIn(block.content) }]
      if (role === 'user') return [user([block])]
      return block.type === 'text' ? model(string(block.text)) : []
    })
  }),
]

const googleItems = (body: JsonObject): WireItem[] => [
  ...(body.systemInstruction === undefined
    ? []
    : [{ kind: 'system' as const, text: textIn(object(body.systemInstruction).parts) }]),
  ...list(body.contents).flatMap(({ role, parts }): WireItem[] =>
    list(parts).flatMap((part): WireItem[] => {
      const { functionCall: call, functionResponse: response } = part
      if (call) return [{ kind: 'call', ...named(call), arguments: object(object(call).args) }]
      if (response)
        return [{ kind: 'result', id: named(response).id, text: JSON.stringify(object(response).response) }]
      if (role !== 'model') return [user([part])]
      return part.thought === true ? [] : model(string(part.text))
    }),
  ),
]

const named = (value: JsonValue): { id: string; name: string } => ({
  id: string(object(value).id),
  name: string(object(value).name),
})

const responsesItems = (body: JsonObject): WireItem[] => [
  ...(body.instructions === undefined ? [] : [{ kind: 'system' as const, text: string(body.instructions) }]),
  ...(typeof body.input === 'string' ? [user(body.input)] : list(body.input).flatMap(responsesItem)),
]

const responsesItem = (item: JsonObject): WireItem[] => {
  if (item.type === 'function_call') {
    const { call_id, name, arguments: args } = item
    return [{ kind: 'call', id: string(call_id), name: string(name), arguments: parsed(args) }]
  }
  if (item.type === 'custom_tool_call')
    return [
      { kind: 'call', id: string(item.call_id), name: string(item.name), arguments: string(item.input) },
    ]
  if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output')
    return [{ kind: 'result', id: string(item.call_id), text: textIn(item.output) }]
  if (item.role === 'system' || item.role === 'developer')
    return [{ kind: 'system', text: textIn(item.content) }]
  if (item.role === 'user') return [user(item.content)]
  return item.role === 'assistant' ? model(textIn(item.content)) : []
}

/** The conversation in a request body. */
export const wireItems = (protocol: string, body: JsonObject): WireItem[] => {
  if (protocol === 'anthropic') return anthropicItems(body)
  if (protocol === 'google') return googleItems(body)
  return protocol === 'openai-responses' ? responsesItems(body) : chatItems(body)
}

/** The tools a request body declares. */
export const wireTools = (body: JsonObject): WireTool[] =>
  list(body.tools)
    .flatMap((entry) => (entry.functionDeclarations ? list(entry.functionDeclarations) : [entry]))
    .map((entry) => (entry.function ? object(entry.function) : entry))
    .filter((entry) => entry.name !== undefined)
    .map((entry) => ({
      name: string(entry.name),
      description: string(entry.description),
      schema: object(entry.parameters ?? entry.parametersJsonSchema ?? entry.input_schema),
    }))
