import { endsCompacted } from '../../src/messages/compaction.ts'
import type { ErrorData } from '../../src/messages/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../../src/messages/json.ts'
import { type ChatMessage, toolResultsOf } from '../../src/messages/messages.ts'
import type { ModelRequest, Thinking, ToolSpec } from '../../src/model/chatModel.ts'
import { foundIn } from '../../src/model/deferredTools.ts'
import { toolChangeOf } from '../../src/model/promptChange.ts'
import { isEnforceable } from '../../src/schema/enforceable.ts'
import { toDialect } from '../../src/schema/toDialect.ts'
import { anyEffort, effortFor, type RefusedSetting, someThinking } from '../models/modelFacts.ts'
import { stringAt } from '../wire/json.ts'
import { isEdited, prefixAt, prefixOfTurns } from '../wire/prefix.ts'
import type { Target, WireRequest } from '../wire/protocol.ts'
import { cacheKey, conversationOf, opaqueOf, withProviderOptions } from '../wire/request.ts'
import { openaiDialect, openaiStrict } from '../wire/schemaDialects.ts'
import { checkClientTools, responsesServerTools, serverToolsOf } from '../wire/serverTools.ts'
import { isClientEntry } from './clientTools.ts'
import { responsesInput } from './history.ts'
import type { OpenAIResponsesProfile } from './profile.ts'
import { protocolName } from './replay.ts'

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
  const whole = withProviderOptions(body, request.providerOptions)
  checkClientTools(whole, request, target, isClientEntry)
  const include = target.profile.toolOutputs ? outputsOf(whole) : []
  return {
    path: '/responses',
    body: include.length > 0 ? { ...whole, include } : whole,
    prefix: prefixOfTurns(conversationOf(request.messages).turns),
  }
}

/** The parts of an answer that the API leaves out unless they are asked for, by the tool that makes them. */
const toolOutputs: Readonly<Record<string, string>> = {
  code_interpreter: 'code_interpreter_call.outputs',
  web_search: 'web_search_call.action.sources',
  file_search: 'file_search_call.results',
}

const outputsOf = ({ tools, include }: JsonObject): JsonValue[] => {
  const types = Array.isArray(tools)
    ? tools.map((tool) => stringAt(isJsonObject(tool) ? tool : {}, 'type'))
    : []
  const asked = types.flatMap((type) => ownValue(toolOutputs, type ?? '') ?? [])
  return [...new Set([...(Array.isArray(include) ? include : []), ...asked])]
}

const isStateless = ({ providerOptions }: ModelRequest, { profile }: Target<OpenAIResponsesProfile>) =>
  profile.stateless === true || providerOptions?.store === false

/** The conversation: a response to continue and what came after it, or the whole history. */
const conversation = (request: ModelRequest, target: Target<OpenAIResponsesProfile>): JsonObject => {
  const { profile } = target
  const { system, turns } = conversationOf(request.messages)
  const stateless = isStateless(request, target)
  const previous = stateless ? undefined : previousResponseOf(turns, target.provider)
  const { tools = [] } = request
  const input = responsesInput(turns, previous ? previous.position + 1 : 0, target, {
    known: tools.filter(({ deferred }) => !deferred).map(({ name }) => name),
    deferred: new Map(
      tools.filter(({ deferred }) => deferred).map((each) => [each.name, functionTool(each)]),
    ),
    define: functionTool,
  })
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
  request: ModelRequest,
  { refuses = [] }: OpenAIResponsesProfile,
  serverTools: JsonObject[],
): JsonObject => {
  const { tools = [], parallelToolCalls, providerOptions } = request
  // A deferred tool is added where a search has found it.
  const offered = [...tools.filter(({ deferred }) => !deferred).map(functionTool), ...serverTools]
  const { added, removed } = changedTools(request)
  const found = new Set(removed.size > 0 ? request.messages.flatMap(toolResultsOf).flatMap(foundIn) : [])
  if (offered.length + added.length === 0 && !providerOptions?.tools) return {}
  const joined = [...tools.filter(({ name, deferred }) => deferred && found.has(name)), ...added].map(
    functionTool,
  )
  const allowed = [...offered, ...joined].filter(({ name }) => !removed.has(name))
  const choice = choiceOf(request, added, removed.size > 0 ? allowed : undefined)
  return {
    ...(offered.length > 0 && { tools: offered }),
    ...(choice !== undefined && { tool_choice: choice }),
    ...(parallelToolCalls !== undefined &&
      !refuses.includes('parallelToolCalls') && { parallel_tool_calls: parallelToolCalls }),
  }
}

/** The tools that were added in the middle of the conversation, and the names of those that may not be called any more. */
const changedTools = ({ messages }: ModelRequest): { added: ToolSpec[]; removed: ReadonlySet<unknown> } => {
  const added = new Map<string, ToolSpec>()
  const removed = new Set<unknown>()
  for (const change of messages.flatMap((message) => toolChangeOf(message) ?? [])) {
    for (const spec of change.added) if (!removed.delete(spec.name)) added.set(spec.name, spec)
    for (const name of change.removed) removed.add(name)
  }
  return { added: [...added.values()], removed }
}

const functionTool = ({ name, description, inputSchema, wire }: ToolSpec): JsonObject => {
  const own = wire?.[protocolName]
  if (own) return own
  const parameters = toDialect(inputSchema, openaiDialect)
  // Always said: left out, the API would rewrite the schema and make every property required.
  const strict = isEnforceable(parameters, openaiStrict)
  return { type: 'function', name, description, parameters, strict }
}

/** The choice of tools. Where some are removed it names those that are left: the list of tools stays what it was. */
const choiceOf = (
  { tools = [], toolChoice: choice }: ModelRequest,
  added: readonly ToolSpec[],
  allowed: readonly JsonObject[] | undefined,
): JsonValue | undefined => {
  if (typeof choice === 'object') {
    const type = [...tools, ...added].find(({ name }) => name === choice.tool)?.wire?.[protocolName]?.type
    return type === undefined ? { type: 'function', name: choice.tool } : { type }
  }
  if (!allowed || choice === 'none') return choice
  if (allowed.length === 0) return 'none'
  return { type: 'allowed_tools', mode: choice ?? 'auto', tools: allowed.map(referenceTo) }
}

const referenceTo = ({ type = null, name, server_label }: JsonObject): JsonObject => ({
  type,
  ...(name !== undefined && { name }),
  ...(server_label !== undefined && { server_label }),
})

const generationSettings = (request: ModelRequest, profile: OpenAIResponsesProfile): JsonObject => {
  const { temperature, topP, maxOutputTokens, thinking, outputSchema } = request
  const { refuses = [], efforts = [] } = profile
  // A model that does not think takes the settings that it refuses while it thinks.
  const isOff = thinking === false && efforts.includes('none')
  const takes = (setting: RefusedSetting) => isOff || !refuses.includes(setting)
  return {
    ...(temperature !== undefined && takes('temperature') && { temperature }),
    ...(topP !== undefined && takes('topP') && { top_p: topP }),
    ...(maxOutputTokens !== undefined && { max_output_tokens: maxOutputTokens }),
    ...reasoningOf(thinking, profile),
    ...(outputSchema && { text: { format: schemaFormat(outputSchema) } }),
  }
}

const schemaFormat = (outputSchema: JsonObject): JsonObject => {
  const schema = toDialect(outputSchema, openaiDialect)
  return { type: 'json_schema', name: 'answer', schema, strict: isEnforceable(schema, openaiStrict) }
}

/** The amount of thinking, and whether a summary of it is shown. */
const reasoningOf = (
  thinking: Thinking | undefined,
  { thinking: canThink, efforts = anyEffort, reasoningSummary = true }: OpenAIResponsesProfile,
): JsonObject => {
  if (thinking === undefined || !canThink) return {}
  const effort = effortFor(someThinking(thinking), efforts)
  const reasoning = {
    ...(effort !== undefined && { effort }),
    ...(thinking !== false && reasoningSummary && { summary: 'auto' }),
  }
  return Object.keys(reasoning).length > 0 ? { reasoning } : {}
}

/** The response a request continues: its id, and its place among the turns. */
type PreviousResponse = { id: string; position: number }

/**
 * The newest response of this provider that has anything after it. A response that nothing follows is being asked
 * for again, so it is the one before it that gets continued.
 */
const previousResponseOf = (
  turns: readonly ChatMessage[],
  provider: string,
): PreviousResponse | undefined => {
  // The provider would bring back what was compacted.
  const last = turns.at(-1)
  if (last && endsCompacted(last)) return undefined
  for (let position = turns.length - 2; position >= 0; position -= 1) {
    const turn = turns[position]
    if (turn && endsCompacted(turn)) return undefined
    if (turn?.role !== 'model') continue
    const opaque = opaqueOf(turn, protocolName, provider)
    const id = stringAt(opaque, 'responseId')
    if (!id) continue
    const before = prefixAt(opaque)
    // The server continues what it has: it would ignore that the history was edited or shortened since.
    const isSame = before === undefined || before === prefixOfTurns(turns.slice(0, position))
    return isSame && !isEdited(turn, opaque) ? { id, position } : undefined
  }
  return undefined
}

/** A request with no response to continue: mapped again, it carries the whole history. Undefined if it did already. */
export const withoutPreviousResponse = (request: ModelRequest): ModelRequest | undefined => {
  const messages = request.messages.map(withoutResponseId)
  return messages.some((message, at) => message !== request.messages[at])
    ? { ...request, messages }
    : undefined
}

const withoutResponseId = (message: ChatMessage): ChatMessage => {
  const data = message.metadata && ownValue(message.metadata, protocolName)
  if (!isJsonObject(data) || !Object.hasOwn(data, 'responseId')) return message
  const { responseId: _, ...rest } = data
  return { ...message, metadata: { ...message.metadata, [protocolName]: rest } }
}

/** Servers differ in words: forgotten, not stored, not allowed for the account, or the parameter not known at all. */
const aboutPreviousResponse = /previous[ _]response|\bresponse with id\b.*not found/i

/** True where a request failed because the provider cannot continue the response that it named. */
export const isUnknownPreviousResponse = (error: ErrorData): boolean => {
  if (error.code === 'previous_response_not_found') return true
  const refused = error.status === undefined || [400, 404, 422].includes(error.status)
  return error.name === 'ModelError' && refused && aboutPreviousResponse.test(error.message)
}
