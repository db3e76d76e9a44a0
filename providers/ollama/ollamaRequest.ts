import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import type { ModelRequest, Thinking, ToolSpec } from '../../src/model/chatModel.ts'
import { toDialect } from '../../src/schema/toDialect.ts'
import { compatibleDialect } from '../openai-chat/schemaDialect.ts'
import type { Target, WireRequest } from '../protocol.ts'
import { ollamaMessages } from './ollamaMessages.ts'
import type { OllamaProfile } from './profile.ts'
import { ollamaToolDialect } from './schemaDialect.ts'

export const ollamaRequest = (request: ModelRequest, target: Target<OllamaProfile>): WireRequest => {
  const tools = offeredTools(request)
  const options = optionsOf(request)
  return {
    path: '/chat',
    body: {
      model: target.model,
      messages: ollamaMessages(request.messages, target),
      stream: true,
      ...(tools.length > 0 && { tools: tools.map(toolOf) }),
      ...(request.outputSchema && { format: toDialect(request.outputSchema, compatibleDialect) }),
      ...(request.thinking !== undefined && target.profile.thinking && { think: thinkOf(request.thinking) }),
      ...request.providerOptions,
      ...(Object.keys(options).length > 0 && { options }),
    },
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
const thinkOf = (thinking: Thinking): boolean | 'low' | 'medium' | 'high' => {
  if (typeof thinking === 'boolean') return thinking
  return thinking.effort === 'minimal' ? 'low' : (thinking.effort ?? true)
}

/** The sampling settings live in `options`; the user's own options (`num_ctx` …) join them instead of replacing them. */
const optionsOf = (request: ModelRequest): JsonObject => {
  const own = request.providerOptions?.options
  return {
    ...(request.temperature !== undefined && { temperature: request.temperature }),
    ...(request.topP !== undefined && { top_p: request.topP }),
    ...(request.maxOutputTokens !== undefined && { num_predict: request.maxOutputTokens }),
    ...(request.stopSequences?.length && { stop: request.stopSequences }),
    ...(request.seed !== undefined && { seed: request.seed }),
    ...(isJsonObject(own) && own),
  }
}
