import type { JsonObject, JsonValue } from '../../src/messages/json.ts'
import type { ModelRequest, ToolChoice, ToolSpec } from '../../src/model/chatModel.ts'
import { isEnforceable } from '../../src/schema/enforceable.ts'
import { toDialect } from '../../src/schema/toDialect.ts'
import { openaiDialect, openaiStrict } from '../openai-chat/schemaDialect.ts'
import { conversationOf } from '../wire/conversation.ts'
import { cacheKey } from '../wire/promptCache.ts'
import type { Target, WireRequest } from '../wire/protocol.ts'
import { withProviderOptions } from '../wire/providerOptions.ts'
import { serverToolsOf } from '../wire/serverTools.ts'
import { inputItems } from './history.ts'
import { previousResponseOf } from './previousResponse.ts'
import type { OpenAIResponsesProfile } from './profile.ts'
import { reasoningOf } from './reasoning.ts'
import { responsesServerTools } from './serverTools.ts'

export const responsesRequest = (
  request: ModelRequest,
  target: Target<OpenAIResponsesProfile>,
): WireRequest => {
  const body: JsonObject = {
    model: target.model,
    ...conversation(request, target),
    ...toolSettings(request, target.profile, serverToolsOf(request, target, responsesServerTools)),
    ...generationSettings(request, target.profile),
    ...(target.profile.promptCache === 'key' && cacheKey(request)),
    stream: true,
  }
  return { path: '/responses', body: withProviderOptions(body, request.providerOptions) }
}

/** Either a response to continue and what came after it, or the whole history. */
const conversation = (request: ModelRequest, target: Target<OpenAIResponsesProfile>): JsonObject => {
  const { profile } = target
  const { system, turns } = conversationOf(request.messages)
  const stateless = profile.stateless === true || request.providerOptions?.store === false
  const previous = stateless ? undefined : previousResponseOf(turns, target.provider)
  const input = inputItems(turns, previous ? previous.position + 1 : 0, target)
  const systemMessage = profile.systemAsMessage && !previous && system !== ''
  return {
    ...(system !== '' && !profile.systemAsMessage && { instructions: system }),
    input: systemMessage ? [{ type: 'message', role: 'system', content: system }, ...input] : input,
    // A conversation object continues by itself, and excludes the id.
    ...(previous && !request.providerOptions?.conversation && { previous_response_id: previous.id }),
    ...(profile.stateless && { store: false }),
    // Only reasoning models know the option, the others answer with an error.
    ...(stateless && profile.thinking && { include: ['reasoning.encrypted_content'] }),
  }
}

const toolSettings = (
  { tools = [], toolChoice, parallelToolCalls, providerOptions }: ModelRequest,
  { refuses = [] }: OpenAIResponsesProfile,
  serverTools: JsonObject[],
): JsonObject => {
  const offered = [...tools.map(functionTool), ...serverTools]
  if (offered.length === 0 && !providerOptions?.tools) return {}
  return {
    ...(offered.length > 0 && { tools: offered }),
    ...(toolChoice !== undefined && { tool_choice: choiceOf(toolChoice) }),
    ...(parallelToolCalls !== undefined &&
      !refuses.includes('parallelToolCalls') && { parallel_tool_calls: parallelToolCalls }),
  }
}

const functionTool = ({ name, description, inputSchema }: ToolSpec): JsonObject => {
  const parameters = toDialect(inputSchema, openaiDialect)
  // Always said: left out, the API would rewrite the schema and make every property required.
  const strict = isEnforceable(parameters, openaiStrict)
  return { type: 'function', name, description, parameters, strict }
}

const choiceOf = (choice: ToolChoice): JsonValue =>
  typeof choice === 'string' ? choice : { type: 'function', name: choice.tool }

const generationSettings = (request: ModelRequest, profile: OpenAIResponsesProfile): JsonObject => {
  const { temperature, topP, maxOutputTokens, thinking, outputSchema } = request
  const { refuses = [] } = profile
  return {
    ...(temperature !== undefined && !refuses.includes('temperature') && { temperature }),
    ...(topP !== undefined && !refuses.includes('topP') && { top_p: topP }),
    ...(maxOutputTokens !== undefined && { max_output_tokens: maxOutputTokens }),
    ...reasoningOf(thinking, profile),
    ...(outputSchema && { text: { format: schemaFormat(outputSchema) } }),
  }
}

const schemaFormat = (outputSchema: JsonObject): JsonObject => {
  const schema = toDialect(outputSchema, openaiDialect)
  return { type: 'json_schema', name: 'answer', schema, strict: isEnforceable(schema, openaiStrict) }
}
