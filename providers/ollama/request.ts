import type { JsonObject } from '../../src/messages/json.ts'
import type { ModelRequest, Thinking, ToolSpec } from '../../src/model/chatModel.ts'
import { toDialect } from '../../src/schema/toDialect.ts'
import { type EffortWord, effortFor } from '../models/modelFacts.ts'
import type { Target, WireRequest } from '../wire/protocol.ts'
import { hiddenTools, withProviderOptions } from '../wire/request.ts'
import { compatibleDialect, ollamaToolDialect } from '../wire/schemaDialects.ts'
import { serverToolsOf } from '../wire/serverTools.ts'
import { ollamaMessages } from './history.ts'
import type { OllamaProfile } from './profile.ts'

export const ollamaRequest = (request: ModelRequest, target: Target<OllamaProfile>): WireRequest => {
  const tools = [...offeredTools(request).map(toolOf), ...serverToolsOf(request, target, {})]
  const options = optionsOf(request, target.profile)
  const body: JsonObject = {
    model: target.model,
    messages: ollamaMessages(request.messages, target),
    stream: true,
    // The server would drop the oldest messages without a word: an overflow must be an error.
    truncate: false,
    shift: false,
    ...(tools.length > 0 && { tools }),
    ...(request.outputSchema && { format: toDialect(request.outputSchema, compatibleDialect) }),
    ...(request.thinking !== undefined &&
      target.profile.thinking && { think: thinkOf(request.thinking, target.profile) }),
    ...(Object.keys(options).length > 0 && { options }),
  }
  return {
    path: '/chat',
    body: withProviderOptions(body, request.providerOptions),
    ...hiddenTools(request.tools, request.toolChoice),
  }
}

/** Ollama has no tool choice: a tool that must not be called is not shown. */
const offeredTools = ({ tools = [], toolChoice }: ModelRequest): ToolSpec[] => {
  if (toolChoice === 'none') return []
  return typeof toolChoice === 'object' ? tools.filter((tool) => tool.name === toolChoice.tool) : tools
}

const toolOf = (tool: ToolSpec): JsonObject => {
  const { description: more = '', ...parameters } = toDialect(tool.inputSchema, ollamaToolDialect)
  // The server reads no description of the parameters as a whole.
  const description = [tool.description, more].filter((text) => text !== '').join(' ')
  return { type: 'function', function: { name: tool.name, description, parameters } }
}

/** A level is what gpt-oss needs; every other thinking model reads it as yes. */
const thinkOf = (thinking: Thinking, { efforts = levels }: OllamaProfile): boolean | string => {
  const level = effortFor(thinking, efforts)
  return level === 'none' ? false : (level ?? true)
}

const levels: readonly EffortWord[] = ['none', 'low', 'medium', 'high']

/** The sampling settings live in `options`. */
const optionsOf = (request: ModelRequest, { numCtx }: OllamaProfile): JsonObject => ({
  ...(numCtx !== undefined && { num_ctx: numCtx }),
  ...(request.temperature !== undefined && { temperature: request.temperature }),
  ...(request.topP !== undefined && { top_p: request.topP }),
  ...(request.maxOutputTokens !== undefined && { num_predict: request.maxOutputTokens }),
  ...(request.stopSequences?.length && { stop: request.stopSequences }),
  ...(request.seed !== undefined && { seed: request.seed }),
})
