import type { JsonObject, JsonValue } from '../../src/messages/json.ts'
import type { ModelRequest, Thinking, ToolChoice, ToolSpec } from '../../src/model/chatModel.ts'
import { isEnforceable } from '../../src/schema/enforceable.ts'
import { toDialect } from '../../src/schema/toDialect.ts'
import { conversationOf } from '../conversation.ts'
import { openaiDialect, openaiStrict } from '../openai-chat/schemaDialect.ts'
import type { Target, WireRequest } from '../protocol.ts'
import { inputItems } from './inputItems.ts'
import { previousResponseOf } from './previousResponse.ts'
import type { OpenAIResponsesProfile } from './profile.ts'

export const responsesRequest = (
  request: ModelRequest,
  target: Target<OpenAIResponsesProfile>,
): WireRequest => ({
  path: '/responses',
  body: {
    model: target.model,
    ...conversation(request, target),
    ...toolSettings(request),
    ...generationSettings(request, target.profile),
    stream: true,
    ...request.providerOptions,
  },
})

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

const toolSettings = ({
  tools,
  toolChoice,
  parallelToolCalls,
  providerOptions,
}: ModelRequest): JsonObject => {
  if (!tools?.length && !providerOptions?.tools) return {}
  return {
    ...(tools?.length && { tools: tools.map(functionTool) }),
    ...(toolChoice !== undefined && { tool_choice: choiceOf(toolChoice) }),
    ...(parallelToolCalls !== undefined && { parallel_tool_calls: parallelToolCalls }),
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
  const reasoning = profile.thinking && thinking !== undefined ? reasoningOf(thinking, profile) : undefined
  return {
    ...(temperature !== undefined && !profile.fixedSampling && { temperature }),
    ...(topP !== undefined && !profile.fixedSampling && { top_p: topP }),
    ...(maxOutputTokens !== undefined && { max_output_tokens: maxOutputTokens }),
    ...(reasoning && { reasoning }),
    ...(outputSchema && { text: { format: schemaFormat(outputSchema) } }),
  }
}

const reasoningOf = (thinking: Thinking, profile: OpenAIResponsesProfile): JsonObject | undefined => {
  if (thinking === false) return profile.lowestEffort && { effort: profile.lowestEffort }
  const effort = thinking === true ? undefined : thinking.effort
  return { ...(effort && { effort }), summary: 'auto' }
}

const schemaFormat = (outputSchema: JsonObject): JsonObject => {
  const schema = toDialect(outputSchema, openaiDialect)
  return { type: 'json_schema', name: 'answer', schema, strict: isEnforceable(schema, openaiStrict) }
}
