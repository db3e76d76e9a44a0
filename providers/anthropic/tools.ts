import type { JsonObject } from '../../src/messages/json.ts'
import { toolCallsOf } from '../../src/messages/messages.ts'
import type { ModelRequest, ToolSpec } from '../../src/model/chatModel.ts'
import { toDialect } from '../../src/schema/toDialect.ts'
import type { AnthropicProfile } from './profile.ts'
import { toolDialect } from './schemaDialect.ts'

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
  input_schema: toDialect(inputSchema, toolDialect),
})
