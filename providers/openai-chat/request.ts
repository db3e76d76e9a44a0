import { ConfigurationError } from '../../src/messages/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import type { ModelRequest, PromptCache, ToolChoice, ToolSpec } from '../../src/model/chatModel.ts'
import { isEnforceable } from '../../src/schema/enforceable.ts'
import { toDialect } from '../../src/schema/toDialect.ts'
import type { RefusedSetting } from '../models/modelFacts.ts'
import { anyEffort, effortFor, someThinking } from '../models/modelFacts.ts'
import type { Target, WireRequest } from '../wire/protocol.ts'
import { cacheKey, cacheMarker, requestEnds, withProviderOptions } from '../wire/request.ts'
import { compatibleDialect, openaiDialect, openaiStrict } from '../wire/schemaDialects.ts'
import { chatServerTools, serverToolsOf } from '../wire/serverTools.ts'
import { writtenOnce } from '../wire/written.ts'
import { chatMessages } from './history.ts'
import type { OpenAIChatProfile } from './profile.ts'

export const chatRequest = (given: ModelRequest, target: Target<OpenAIChatProfile>): WireRequest => {
  const { profile } = target
  const request = withForcedTools(given, profile)
  const {
    rejectsStreamOptions = false,
    strictSchemas = true,
    refuses = [],
    promptCache,
    serverTools,
  } = profile
  const messages = chatMessages(request.messages, target)
  const body: JsonObject = {
    model: target.model,
    messages: promptCache === 'markers' ? markedMessages(messages, request.cache) : messages,
    stream: true,
    ...(!rejectsStreamOptions && { stream_options: { include_usage: true } }),
    ...samplingSettings(request, profile),
    ...thinkingSettings(request, target),
    ...toolSettings(request, {
      strictSchemas,
      required: 'required',
      refusesParallel: refuses.includes('parallelToolCalls'),
      serverTools: serverToolsOf(request, target, serverTools ? chatServerTools[serverTools] : {}),
    }),
    ...responseFormat(request.outputSchema, strictSchemas),
    ...(promptCache === 'key' && cacheKey(request)),
  }
  return { path: '/chat/completions', body: withProviderOptions(body, request.providerOptions) }
}

/** The request with what the server takes beside a forced tool: the tool wins over thinking, as it does with Claude. */
const withForcedTools = (
  request: ModelRequest,
  { forcedTools, thinking }: OpenAIChatProfile,
): ModelRequest => {
  const { tools = [], toolChoice, ...rest } = request
  const isForced = tools.length > 0 && (toolChoice === 'required' || typeof toolChoice === 'object')
  if (!isForced || forcedTools === undefined) return request
  if (forcedTools === 'never') return { ...rest, tools }
  return thinking ? { ...request, thinking: false } : request
}

const samplingSettings = (request: ModelRequest, profile: OpenAIChatProfile): JsonObject => {
  const { maxTokensField = 'max_completion_tokens', refuses = [], efforts = [] } = profile
  const { temperature, topP, maxOutputTokens, stopSequences = [], seed, thinking } = request
  // A model that does not think takes the sampling settings that it refuses while it thinks.
  const isOff = thinking === false && efforts.includes('none')
  const takes = (setting: RefusedSetting) =>
    !refuses.includes(setting) || (isOff && (setting === 'temperature' || setting === 'topP'))
  return {
    ...(temperature !== undefined && takes('temperature') && { temperature }),
    ...(topP !== undefined && takes('topP') && { top_p: topP }),
    ...(maxOutputTokens !== undefined && { [maxTokensField]: maxOutputTokens }),
    ...(stopSequences.length > 0 && takes('stopSequences') && { stop: stopSequences }),
    ...(seed !== undefined && takes('seed') && { seed }),
  }
}

/** The tool settings of a request. `required` is the word for "call some tool". */
export const toolSettings = (
  request: ModelRequest,
  options: { strictSchemas: boolean; required: string; refusesParallel: boolean; serverTools: JsonObject[] },
): JsonObject => {
  const { tools = [], toolChoice, parallelToolCalls } = request
  if (tools.length + options.serverTools.length === 0) return {}
  return {
    tools: [...tools.flatMap((tool) => functionTools(tool, options.strictSchemas)), ...options.serverTools],
    ...(toolChoice !== undefined && { tool_choice: wireToolChoice(toolChoice, options.required) }),
    ...(parallelToolCalls !== undefined &&
      !options.refusesParallel && { parallel_tool_calls: parallelToolCalls }),
  }
}

const functionTools = (spec: ToolSpec, strictSchemas: boolean): JsonObject[] =>
  writtenOnce(spec, functionTools, `${strictSchemas}`, () => {
    const { name, description, inputSchema } = spec
    const { schema: parameters, ...strict } = wireSchema(inputSchema, strictSchemas)
    const called = { name, ...(description !== '' && { description }), parameters, ...strict }
    return [{ type: 'function', function: called }]
  })

const wireSchema = (schema: JsonObject, strictSchemas: boolean): { schema: JsonObject; strict?: true } => {
  if (!strictSchemas) return { schema: toDialect(schema, compatibleDialect) }
  const sent = toDialect(schema, openaiDialect)
  return { schema: sent, ...(isEnforceable(sent, openaiStrict) && { strict: true }) }
}

const wireToolChoice = (choice: ToolChoice, required: string): JsonValue => {
  if (typeof choice === 'object') return { type: 'function', function: { name: choice.tool } }
  return choice === 'required' ? required : choice
}

/** The whole answer as JSON after a schema. */
export const responseFormat = (schema: JsonObject | undefined, strictSchemas: boolean): JsonObject => {
  if (!schema) return {}
  const format = { name: 'output', ...wireSchema(schema, strictSchemas) }
  return { response_format: { type: 'json_schema', json_schema: format } }
}

/** Sets how much the model thinks, in its vendor's terms; models that do not think get no setting. */
const thinkingSettings = (
  { thinking, tools = [] }: ModelRequest,
  target: Target<OpenAIChatProfile>,
): JsonObject => {
  const { thinkingControl = 'reasoning_effort', efforts = anyEffort, ...profile } = target.profile
  if (profile.toolsOnlyWithoutThinking && tools.length > 0) {
    if (!thinking && efforts.includes('none')) return { reasoning_effort: 'none' }
    throw needsResponses(target, efforts.includes('none'))
  }
  if (thinking === undefined || !profile.thinking) return {}
  const isOn = thinking !== false
  const { effort, budgetTokens } = typeof thinking === 'object' ? thinking : {}
  switch (thinkingControl) {
    case 'reasoning_effort': {
      const word = effortFor(someThinking(thinking), efforts)
      return word === undefined ? {} : { reasoning_effort: word }
    }
    case 'reasoning': {
      const word = effort && effortFor(thinking, efforts)
      if (word !== undefined) return { reasoning: { effort: word } }
      if (budgetTokens !== undefined && efforts.length > 0) return { reasoning: { max_tokens: budgetTokens } }
      return { reasoning: { enabled: isOn } }
    }
    case 'thinking': {
      const word = effort && effortFor(thinking, efforts)
      return { thinking: { type: isOn ? 'enabled' : 'disabled' }, ...(word && { reasoning_effort: word }) }
    }
    case 'adaptive':
      return { thinking: { type: isOn ? 'adaptive' : 'disabled' } }
    case 'enable_thinking':
      return { enable_thinking: isOn, ...(budgetTokens !== undefined && { thinking_budget: budgetTokens }) }
    case 'chat_template_kwargs':
      return { chat_template_kwargs: { enable_thinking: isOn } }
  }
}

const needsResponses = ({ provider, model }: Target, canStop: boolean): ConfigurationError => {
  // With a baseUrl, "openai" itself speaks chat completions.
  const names = [...(provider === 'openai' ? [] : [`"openai:${model}"`]), `"openai-responses:${model}"`]
  return new ConfigurationError(
    `Over chat completions ${model} does not take tools while it thinks. ${canStop ? 'Set thinking: false, or use' : 'Use'} the Responses API: ${names.join(' or ')}.`,
  )
}

/**
 * Marks the system prompt, the last message and the one that the request before ended with, for gateways that hand
 * markers on to Anthropic. Only blocks carry one, so every text is a block: it stays the same when its marker goes.
 */
const markedMessages = (messages: readonly JsonObject[], cache: PromptCache | undefined): JsonObject[] => {
  const marker = cacheMarker(cache)
  if (!marker) return [...messages]
  const ends = requestEnds(messages)
  return messages.map((message, index) => {
    if (message.role === 'assistant') return message
    const isMarked = ends.includes(index) || (index === 0 && message.role === 'system')
    const content = inBlocks(message.content ?? null)
    return { ...message, content: isMarked ? markedContent(content, marker) : content }
  })
}

const inBlocks = (content: JsonValue): JsonValue =>
  typeof content === 'string' && content.trim() !== '' ? [{ type: 'text', text: content }] : content

/** Marks the last text: nothing else carries a marker here, nor does an empty text. */
const markedContent = (content: JsonValue, marker: JsonObject): JsonValue => {
  if (!Array.isArray(content)) return content
  const at = content.findLastIndex((block) => isJsonObject(block) && block.type === 'text')
  const block = content[at]
  return isJsonObject(block) ? content.with(at, { ...block, cache_control: marker }) : content
}
