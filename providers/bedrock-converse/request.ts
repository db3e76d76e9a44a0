import type { JsonObject } from '../../src/messages/json.ts'
import { toolCallsOf } from '../../src/messages/messages.ts'
import type { ModelRequest, Thinking, ToolChoice, ToolSpec } from '../../src/model/chatModel.ts'
import type { PrefixDifference } from '../../src/model/delta.ts'
import { toDialect } from '../../src/schema/toDialect.ts'
import { effortFor, type RefusedSetting } from '../models/modelFacts.ts'
import type { Target, WireRequest } from '../wire/protocol.ts'
import { hiddenTools, withProviderOptions } from '../wire/request.ts'
import { compatibleDialect } from '../wire/schemaDialects.ts'
import { novaServerTools, serverToolsOf } from '../wire/serverTools.ts'
import { converseMessages, converseSystem } from './history.ts'
import type { ConverseProfile } from './profile.ts'

export const converseRequest = (request: ModelRequest, target: Target<ConverseProfile>): WireRequest => {
  const { model, profile } = target
  const tools = toolsOf(request, target)
  const thinking = request.thinking === undefined ? {} : thinkingOf(request.thinking, profile)
  const system = converseSystem(request, profile)
  const inferenceConfig = inferenceOf(request, profile, thinking)
  const choice = choiceOf(request.toolChoice)
  const body: JsonObject = {
    messages: converseMessages(request, target, tools.length > 0),
    ...(system.length > 0 && { system }),
    ...(Object.keys(inferenceConfig).length > 0 && { inferenceConfig }),
    ...(tools.length > 0 && { toolConfig: { tools, ...(choice && { toolChoice: choice }) } }),
    ...(request.outputSchema && { outputConfig: { textFormat: formatOf(request.outputSchema) } }),
    ...(Object.keys(thinking).length > 0 && { additionalModelRequestFields: thinking }),
  }
  return {
    path: `/model/${encodeURIComponent(model)}/converse-stream`,
    body: withProviderOptions(body, request.providerOptions),
    ...(request.toolChoice === 'none' && withoutTools(request)),
  }
}

/** The differences of a request that must not call tools: with them the calls of its history become texts. */
const withoutTools = ({ tools = [], serverTools = [], messages }: ModelRequest) => {
  const { differences = [] } = hiddenTools([...tools, ...serverTools], 'none')
  const isRewritten = differences.length > 0 && messages.some((message) => toolCallsOf(message).length > 0)
  const rewritten: PrefixDifference[] = isRewritten ? [{ part: 'history', by: 'none' }] : []
  return { differences: [...differences, ...rewritten] }
}

/** The tools that are offered. There is no choice of none: tools that must not be called are not shown. */
const toolsOf = (request: ModelRequest, target: Target<ConverseProfile>): JsonObject[] => {
  if (request.toolChoice === 'none') return []
  const forms = target.profile.serverTools === 'nova' ? novaServerTools : {}
  return [...(request.tools ?? []).map(toolOf), ...serverToolsOf(request, target, forms)]
}

const toolOf = ({ name, description, inputSchema }: ToolSpec): JsonObject => ({
  toolSpec: {
    name,
    // An empty one is refused.
    ...(description !== '' && { description }),
    inputSchema: { json: toDialect(inputSchema, compatibleDialect) },
  },
})

const choiceOf = (choice: ToolChoice | undefined): JsonObject | undefined => {
  if (typeof choice === 'object') return { tool: { name: choice.tool } }
  if (choice === 'required') return { any: {} }
  return choice === 'auto' ? { auto: {} } : undefined
}

/** The schema is a text here. */
const formatOf = (schema: JsonObject): JsonObject => ({
  type: 'json_schema',
  structure: {
    jsonSchema: { name: 'answer', schema: JSON.stringify(toDialect(schema, compatibleDialect)) },
  },
})

const inferenceOf = (
  { maxOutputTokens, temperature, topP, stopSequences }: ModelRequest,
  { refuses = [] }: ConverseProfile,
  thinking: JsonObject,
): JsonObject => {
  // Nova decides on all three itself when it thinks hard, and refuses them.
  const isFree = !isHardNova(thinking)
  const takes = (setting: RefusedSetting) => isFree && !refuses.includes(setting)
  return {
    ...(maxOutputTokens !== undefined && isFree && { maxTokens: maxOutputTokens }),
    ...(temperature !== undefined && takes('temperature') && { temperature }),
    ...(topP !== undefined && takes('topP') && { topP }),
    ...(stopSequences?.length && !refuses.includes('stopSequences') && { stopSequences }),
  }
}

const isHardNova = ({ reasoningConfig }: JsonObject): boolean =>
  JSON.stringify(reasoningConfig)?.includes('"high"') ?? false

/** The amount of thinking, in the vendor's own words; nothing for a model that cannot be asked. */
const thinkingOf = (
  thinking: Thinking,
  { thinkingControl, efforts = [], thinking: thinks }: ConverseProfile,
): JsonObject => {
  if (!thinks || !thinkingControl) return {}
  const effort = effortFor(thinking, efforts)
  if (thinkingControl !== 'reasoningConfig') {
    if (effort === undefined) return {}
    return thinkingControl === 'reasoning' ? { reasoning: { effort } } : { reasoning_effort: effort }
  }
  if (effort === 'none') return { reasoningConfig: { type: 'disabled' } }
  return { reasoningConfig: { type: 'enabled', maxReasoningEffort: effort ?? 'medium' } }
}
