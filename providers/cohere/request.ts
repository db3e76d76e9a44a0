import { ConfigurationError } from '../../src/messages/errors.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { ModelRequest, Thinking, ToolSpec } from '../../src/model/chatModel.ts'
import { toDialect } from '../../src/schema/toDialect.ts'
import { budgetFor } from '../models/modelFacts.ts'
import type { Target, WireRequest } from '../wire/protocol.ts'
import { hiddenTools, withProviderOptions } from '../wire/request.ts'
import { cohereAnswerDialect, cohereDialect } from '../wire/schemaDialects.ts'
import { serverToolsOf } from '../wire/serverTools.ts'
import { cohereMessages } from './history.ts'
import type { CohereProfile } from './profile.ts'

export const cohereRequest = (request: ModelRequest, target: Target<CohereProfile>): WireRequest => {
  const body: JsonObject = {
    model: target.model,
    messages: cohereMessages(request.messages, target),
    stream: true,
    ...toolSettings(request, serverToolsOf(request, target, {})),
    ...(request.outputSchema && {
      response_format: {
        type: 'json_object',
        json_schema: toDialect(request.outputSchema, cohereAnswerDialect),
      },
    }),
    ...(request.temperature !== undefined && { temperature: request.temperature }),
    ...(request.maxOutputTokens !== undefined && { max_tokens: request.maxOutputTokens }),
    ...(request.topP !== undefined && { p: request.topP }),
    ...(request.stopSequences?.length && { stop_sequences: request.stopSequences }),
    ...(request.seed !== undefined && { seed: request.seed }),
    ...(request.thinking !== undefined &&
      target.profile.thinking && { thinking: thinkingOf(request.thinking, target.profile) }),
  }
  return {
    path: '/chat',
    body: withProviderOptions(body, request.providerOptions),
    ...(request.toolChoice !== 'none' && hiddenTools(request.tools, request.toolChoice)),
  }
}

/** Cohere has a setting to call some tool or none: to force one tool, only that one is offered. */
const toolSettings = ({ tools = [], toolChoice }: ModelRequest, serverTools: JsonObject[]): JsonObject => {
  const offered = [...tools.map(toolOf), ...serverTools]
  if (offered.length === 0) return {}
  if (toolChoice === 'none') return { tools: offered, tool_choice: 'NONE' }
  if (toolChoice === 'required') return { tools: offered, tool_choice: 'REQUIRED' }
  if (typeof toolChoice !== 'object') return { tools: offered }
  const wanted = tools.filter((tool) => tool.name === toolChoice.tool)
  if (wanted.length === 0)
    throw new ConfigurationError(`toolChoice names an unknown tool: ${toolChoice.tool}`)
  return { tools: wanted.map(toolOf), tool_choice: 'REQUIRED' }
}

const toolOf = (tool: ToolSpec): JsonObject => ({
  type: 'function',
  function: {
    name: tool.name,
    description: tool.description,
    parameters: toDialect(tool.inputSchema, cohereDialect),
  },
})

/** Cohere has a budget but no effort, and needs some room beside it for the answer. */
const thinkingOf = (thinking: Thinking, { maxOutput }: CohereProfile): JsonObject => {
  if (thinking === false) return { type: 'disabled' }
  const tokens = budgetFor(thinking)
  const most = maxOutput === undefined ? tokens : maxOutput - answerRoom
  return {
    type: 'enabled',
    ...(tokens !== undefined && most !== undefined && { token_budget: Math.max(1, Math.min(tokens, most)) }),
  }
}

const answerRoom = 1000
