import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import { type ChatMessage, toolCallsOf } from '../../src/messages/messages.ts'
import type { ModelRequest, PromptCache, ToolSpec } from '../../src/model/chatModel.ts'
import type { PrefixDifference } from '../../src/model/delta.ts'
import { toolChangeOf } from '../../src/model/promptChange.ts'
import { isEnforceable } from '../../src/schema/enforceable.ts'
import { toDialect } from '../../src/schema/toDialect.ts'
import { arrayAt, stringAt } from '../wire/json.ts'
import { bindingBeta, chained } from '../wire/prefix.ts'
import type { Target, WireRequest } from '../wire/protocol.ts'
import {
  cacheMarker,
  conversationOf,
  hashOf,
  requestEnds,
  schemaDifference,
  withProviderOptions,
  withSchemaInstruction,
} from '../wire/request.ts'
import { anthropicAnswerDialect, anthropicGrammar, anthropicToolDialect } from '../wire/schemaDialects.ts'
import { anthropicServerTools, checkClientTools, serverToolsOf } from '../wire/serverTools.ts'
import {
  anthropicMessages,
  boundMessages,
  isThinking,
  openContainer,
  resumesWithoutThinking,
  type WireMessage,
} from './history.ts'
import type { AnthropicProfile } from './profile.ts'
import { type ThinkingSettings, thinkingSettings, thinks } from './thinking.ts'

/** The beta that files belong to, in uploads and in messages that name one. */
export const anthropicFilesBeta = 'files-api-2025-04-14'

/** The version of the API, in every request, also those for lists. */
export const anthropicHeaders = { 'anthropic-version': '2023-06-01' }

export const anthropicRequest = (request: ModelRequest, target: Target<AnthropicProfile>): WireRequest => {
  const { model, profile } = target
  const schema = profile.nativeSchema && request.outputSchema ? outputSchema(request.outputSchema) : undefined
  const { system, turns } = conversationOf(
    request.outputSchema && !schema
      ? withSchemaInstruction(request.messages, request.outputSchema)
      : request.messages,
  )
  const opening: JsonObject = {
    ...(system.trim() !== '' && { system }),
    ...toolSettings(request, profile, serverToolsOf(request, target, anthropicServerTools(profile))),
  }
  const { messages, prefix } = conversation(request, turns, opening, target)
  const thinking = thinkingSettings(request, profile, {
    forcedTool: forcesTool(request, profile),
    resumesWithoutThinking: resumesWithoutThinking(messages),
  })
  const container = openContainer(turns, target)
  // A stop sequence of white space only is rejected.
  const stops = request.stopSequences?.filter((stop) => stop.trim() !== '') ?? []
  const body: JsonObject = {
    model,
    max_tokens: thinking.maxTokens,
    ...opening,
    messages,
    ...(thinking.thinking && { thinking: thinking.thinking }),
    ...outputConfig(thinking.effort, schema),
    ...sampling(request, profile, thinking),
    ...(stops.length > 0 && { stop_sequences: stops }),
    ...(container !== undefined && { container }),
    stream: true,
  }
  const betas = [
    ...(thinking.thinking?.block_binding ? [bindingBeta] : []),
    ...(messages.some(({ content }) => content.some(isStoredFile)) ? [anthropicFilesBeta] : []),
    ...changeBetas(turns),
  ]
  const whole = withProviderOptions(body, request.providerOptions)
  checkClientTools(whole, request, target, isClientEntry)
  return {
    path: '/messages',
    headers: {
      ...anthropicHeaders,
      ...(betas.length > 0 && { 'anthropic-beta': betas.join(',') }),
    },
    body: withCacheMarkers(whole, request.cache),
    ...(prefix !== undefined && { prefix }),
    ...differencesOf(request, schema, opening.tools),
  }
}

/** The parts of the beginning that are not as the engine gave them: a schema as a text, and tools that only the history has. */
const differencesOf = (
  { messages, outputSchema, tools = [], serverTools = [] }: ModelRequest,
  schema: JsonObject | undefined,
  sent: JsonValue | undefined,
): Pick<WireRequest, 'differences'> => {
  const { differences = [] } = outputSchema && !schema ? schemaDifference(messages, outputSchema) : {}
  const isOfHistory = sent !== undefined && tools.length + serverTools.length === 0
  const named: PrefixDifference[] = isOfHistory ? [{ part: 'tools', by: hashOf(JSON.stringify(sent)) }] : []
  return differences.length + named.length > 0 ? { differences: [...differences, ...named] } : {}
}

/** The betas of tools that change in the middle of a conversation: removed by their names, added with their definitions. */
const changeBetas = (turns: readonly ChatMessage[]): string[] => {
  const changes = turns.flatMap((turn) => toolChangeOf(turn) ?? [])
  return [
    ...(changes.some(({ removed }) => removed.length > 0)
      ? ['mid-conversation-tool-changes-2026-07-01']
      : []),
    ...(changes.some(({ added }) => added.length > 0) ? ['inline-tools-2026-09-15'] : []),
  ]
}

/** The messages, without thinking that is bound to another conversation, and the hash of everything that is sent. */
const conversation = (
  { providerOptions, tools = [] }: ModelRequest,
  turns: readonly ChatMessage[],
  opening: JsonObject,
  target: Target<AnthropicProfile>,
): { messages: WireMessage[]; prefix?: string } => {
  const deferred = new Set(tools.filter((each) => each.deferred).map(({ name }) => name))
  const messages = anthropicMessages(turns, target, deferred, toolDefinition)
  if (!target.profile.bindsThinking) return { messages }
  const { system, tools: sent } = withProviderOptions(opening, providerOptions)
  return boundMessages(messages, turns, chained('', [system ?? '', sent ?? []]), target.provider)
}

const outputConfig = (effort: string | undefined, schema: JsonObject | undefined): JsonObject =>
  effort === undefined && !schema
    ? {}
    : {
        output_config: {
          ...(effort !== undefined && { effort }),
          ...(schema && { format: { type: 'json_schema', schema } }),
        },
      }

/** The sampling settings. A model that thinks takes no temperature and hardly any top_p; else the temperature goes first. */
const sampling = (
  { temperature, topP }: ModelRequest,
  profile: AnthropicProfile,
  thinking: ThinkingSettings,
): JsonObject => {
  const none = profile.sampling === 'none'
  const sent = none || thinks(thinking) ? undefined : temperature
  const onlyOne = profile.sampling === 'one' && sent !== undefined
  const topPFits = topP !== undefined && (!thinks(thinking) || topP >= 0.95)
  return {
    ...(sent !== undefined && { temperature: sent }),
    ...(topPFits && !none && !onlyOne && { top_p: topP }),
  }
}

/** True where the request makes the model call a tool, as far as the model can be made to. */
const forcesTool = (request: ModelRequest, profile: AnthropicProfile): boolean => {
  const choice = request.toolChoice
  const forced = choice === 'required' || typeof choice === 'object'
  return forced && profile.forcedToolChoice && (request.tools?.length ?? 0) > 0
}

const toolSettings = (
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

const toolDefinition = ({ name, description, inputSchema, deferred, wire }: ToolSpec): JsonObject =>
  wire?.anthropic ?? {
    name,
    ...(description !== '' && { description }),
    input_schema: toDialect(inputSchema, anthropicToolDialect),
    ...(deferred && { defer_loading: true }),
  }

const isStoredFile = ({ type, source }: JsonObject): boolean =>
  type === 'container_upload' || (isJsonObject(source) && source.type === 'file')

/** Tools that Anthropic defines and the client runs. */
const isClientEntry = ({ type }: JsonObject): boolean =>
  typeof type === 'string' && /^(?:memory|bash|text_editor|computer)_\d/.test(type)

/** The schema of an answer for `output_config.format`; undefined when the API could not hold a model to it. */
const outputSchema = (schema: JsonObject): JsonObject | undefined => {
  const sent = toDialect(schema, anthropicAnswerDialect)
  return isEnforceable(sent, anthropicGrammar) ? sent : undefined
}

/**
 * Marks a request so that the next one reads it from the cache: the last tool, the system prompt, the last message and
 * the one that the request before ended with. The API accepts four markers at most: a body with the user's own markers
 * gets none of ours.
 */
const withCacheMarkers = (body: JsonObject, cache: PromptCache | undefined): JsonObject => {
  const marker = cacheMarker(cache)
  if (!marker || isMarked(body)) return body
  const messages = (arrayAt(body, 'messages') ?? []).filter(isJsonObject)
  const ends = requestEnds(messages)
  const tools = arrayAt(body, 'tools')
  return {
    ...body,
    ...(body.system !== undefined && { system: markedLast(blocksOf(body.system), marker, isMarkable) }),
    messages: messages.map((message, index) =>
      ends.includes(index)
        ? { ...message, content: markedLast(blocksOf(message.content), marker, isMarkable) }
        : message,
    ),
    // A tool that is loaded later is not in the prefix.
    ...(tools && { tools: markedLast(tools, marker, (tool) => tool.defer_loading !== true) }),
  }
}

const blocksOf = (content: JsonValue | undefined): JsonValue[] => {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return Array.isArray(content) ? content : []
}

const markedLast = (
  items: readonly JsonValue[],
  marker: JsonObject,
  fits: (item: JsonObject) => boolean,
): JsonValue[] => {
  const at = items.findLastIndex((item) => isJsonObject(item) && fits(item))
  const item = items[at]
  return isJsonObject(item) ? items.with(at, { ...item, cache_control: marker }) : [...items]
}

/** True for blocks that may be marked: neither thinking nor empty text. */
const isMarkable = (block: JsonObject): boolean =>
  block.type === 'text' ? (stringAt(block, 'text') ?? '').trim() !== '' : !isThinking(block)

const isMarked = (body: JsonObject): boolean => {
  const messages = arrayAt(body, 'messages') ?? []
  const blocks = messages.flatMap((message) => (isJsonObject(message) ? blocksOf(message.content) : []))
  return [body, ...(arrayAt(body, 'tools') ?? []), ...blocksOf(body.system), ...blocks].some(
    (place) => isJsonObject(place) && place.cache_control !== undefined,
  )
}
