import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import { toolCallsOf } from '../../src/messages/messages.ts'
import type { ModelRequest, ToolSpec } from '../../src/model/chatModel.ts'
import { arrayAt, objectAt } from '../wireJson.ts'
import type { AnthropicProfile } from './profile.ts'

/** Whether the request makes the model call a tool, as far as the model can be made to. */
export const forcesTool = (request: ModelRequest, profile: AnthropicProfile): boolean => {
  const choice = request.toolChoice
  const forced = choice === 'required' || typeof choice === 'object'
  return forced && profile.forcedToolChoice && (request.tools?.length ?? 0) > 0
}

export const toolSettings = (
  request: ModelRequest,
  profile: AnthropicProfile,
  serverTools: JsonObject[],
): JsonObject => {
  const { tools = [], toolChoice, parallelToolCalls } = request
  if (tools.length + serverTools.length === 0) return replayedTools(request)
  const choice =
    toolChoice === 'none' ? { type: 'none' } : callingChoice(request, profile, parallelToolCalls === false)
  return { tools: [...tools.map(toolDefinition), ...serverTools], ...(choice && { tool_choice: choice }) }
}

/** The API refuses tool blocks in a request that defines no tools: those of the history are named, none can be called. */
const replayedTools = ({ messages }: ModelRequest): JsonObject => {
  const names = [...new Set(messages.flatMap(toolCallsOf).map(({ name }) => name))]
  if (names.length === 0) return {}
  return {
    tools: names.map((name) => ({ name, input_schema: { type: 'object' } })),
    tool_choice: { type: 'none' },
  }
}

const callingChoice = (
  request: ModelRequest,
  profile: AnthropicProfile,
  oneAtATime: boolean,
): JsonObject | undefined => {
  const { toolChoice } = request
  if (toolChoice === undefined && !oneAtATime) return undefined
  const limit = oneAtATime ? { disable_parallel_tool_use: true } : {}
  if (!forcesTool(request, profile)) return { type: 'auto', ...limit }
  return typeof toolChoice === 'object'
    ? { type: 'tool', name: toolChoice.tool, ...limit }
    : { type: 'any', ...limit }
}

const toolDefinition = ({ name, description, inputSchema }: ToolSpec): JsonObject => ({
  name,
  ...(description !== '' && { description }),
  input_schema: objectSchema(inputSchema),
})

/**
 * The API wants an object at the root and rejects alternatives there, so those are flattened into one object that
 * has the properties of all. Looser than the original; the tool's own schema still checks the arguments.
 */
const objectSchema = (schema: JsonObject): JsonObject => {
  const { $schema: _, anyOf, oneOf, allOf, ...rest } = schema
  const alternatives = [...objectsIn(anyOf), ...objectsIn(oneOf)].map(objectSchema)
  const joined = objectsIn(allOf).map(objectSchema)
  if (alternatives.length + joined.length === 0) return { ...rest, type: 'object' }
  const all = [rest, ...joined]
  const required = new Set([...all.flatMap(requiredIn), ...sharedBy(alternatives.map(requiredIn))])
  return {
    ...rest,
    type: 'object',
    properties: mergeProperties([...all, ...alternatives]),
    ...(required.size > 0 && { required: [...required] }),
  }
}

const objectsIn = (value: JsonValue | undefined): JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : []

const requiredIn = (schema: JsonObject): JsonValue[] => arrayAt(schema, 'required') ?? []

const sharedBy = (lists: JsonValue[][]): JsonValue[] =>
  (lists[0] ?? []).filter((name) => lists.every((list) => list.includes(name)))

/** A property that differs between the alternatives may be any of its forms. */
const mergeProperties = (schemas: JsonObject[]): JsonObject => {
  const forms = new Map<string, JsonValue[]>()
  for (const schema of schemas) {
    for (const [name, form] of Object.entries(objectAt(schema, 'properties') ?? {})) {
      const known = forms.get(name) ?? []
      if (!known.some((other) => JSON.stringify(other) === JSON.stringify(form))) known.push(form)
      forms.set(name, known)
    }
  }
  return Object.fromEntries(
    [...forms].map(([name, known]) => [name, known.length === 1 ? (known[0] ?? {}) : { anyOf: known }]),
  )
}
