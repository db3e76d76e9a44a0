import { ConfigurationError } from '../../src/messages/errors.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { type ChatMessage, userMessage } from '../../src/messages/messages.ts'
import type { ModelRequest, Thinking, ToolChoice, ToolSpec } from '../../src/model/chatModel.ts'
import { toDialect } from '../../src/schema/toDialect.ts'
import { budgetFor, type EffortWord, effortFor } from '../models/modelFacts.ts'
import { stringAt } from '../wire/json.ts'
import type { Target, WireRequest } from '../wire/protocol.ts'
import { conversationOf, hiddenTools, opaqueOf, withProviderOptions } from '../wire/request.ts'
import { geminiDialect } from '../wire/schemaDialects.ts'
import { googleServerTools, serverToolsOf } from '../wire/serverTools.ts'
import { googleContents } from './history.ts'
import type { GoogleProfile } from './profile.ts'

/** A streaming `generateContent` request. The key travels in a header, never in the URL. */
export const googleRequest = (request: ModelRequest, target: Target<GoogleProfile>): WireRequest => {
  const { system, turns: all } = conversationOf(request.messages)
  const continuationToken = continuationOf(all.at(-1), target.provider)
  const turns = continuationToken === undefined ? all : all.slice(0, -1)
  const generationConfig = generationConfigOf(request, target.profile)
  const isText = target.profile.systemAsText === true
  const body: JsonObject = {
    ...(system !== '' && !isText && { systemInstruction: { parts: [{ text: system }] } }),
    contents: googleContents(isText && system !== '' ? [userMessage(system), ...turns] : turns, target),
    ...toolSettings(request, target),
    ...(Object.keys(generationConfig).length > 0 && { generationConfig }),
    ...(continuationToken !== undefined && { continuationToken }),
  }
  return {
    path: `/${resourceOf(target.model)}:streamGenerateContent?alt=sse`,
    body: withProviderOptions(body, request.providerOptions),
    ...(request.toolChoice === 'none' && hiddenTools(request.serverTools, 'none')),
  }
}

/** The token of an answer that is longer than one response: the same request goes out again with it, without the answer. */
const continuationOf = (last: ChatMessage | undefined, provider: string): string | undefined =>
  last?.role === 'model' ? stringAt(opaqueOf(last, 'google', provider), 'continuationToken') : undefined

/** `gemini-3-flash` → `models/gemini-3-flash`; names that say their collection keep it. */
const resourceOf = (model: string): string => {
  const name = /^(models|tunedModels)\//.test(model) ? model : `models/${model}`
  return name.split('/').map(encodeURIComponent).join('/')
}

const toolSettings = (request: ModelRequest, target: Target<GoogleProfile>): JsonObject => {
  const { tools = [], toolChoice } = request
  const { profile, provider, model } = target
  const { fileSearch, ...others } = googleServerTools
  const forms = profile.fileSearch === false ? others : { ...others, ...(fileSearch && { fileSearch }) }
  // Only functions have a tool choice: server tools that must not be used are not offered.
  const serverTools = toolChoice === 'none' ? [] : serverToolsOf(request, target, forms)
  // A tool choice without functions is an error.
  if (tools.length === 0) return serverTools.length > 0 ? { tools: serverTools } : {}
  const isMixed = serverTools.length > 0
  if (isMixed && !profile.mixedTools) {
    throw new ConfigurationError(
      `${provider}:${model} takes server tools or the agent's own tools, not both. Choose a newer model.`,
    )
  }
  const toolConfig: JsonObject = {
    // Beside server tools the model refuses the setting that it may choose, which is its default anyway.
    ...(toolChoice !== undefined &&
      !(isMixed && toolChoice === 'auto') && { functionCallingConfig: callingConfigOf(toolChoice) }),
    ...(isMixed && profile.mixedTools === 'announced' && { includeServerSideToolInvocations: true }),
  }
  return {
    tools: [{ functionDeclarations: tools.map(declarationOf) }, ...serverTools],
    ...(Object.keys(toolConfig).length > 0 && { toolConfig }),
  }
}

const declarationOf = ({ name, description, inputSchema }: ToolSpec): JsonObject => ({
  name,
  ...(description !== '' && { description }),
  parametersJsonSchema: toDialect(inputSchema, geminiDialect),
})

const callingConfigOf = (choice: ToolChoice): JsonObject => {
  if (typeof choice === 'object') return { mode: 'ANY', allowedFunctionNames: [choice.tool] }
  return { mode: { auto: 'AUTO', none: 'NONE', required: 'ANY' }[choice] }
}

/** Sampling, length, thinking and answer format: everything Gemini keeps under `generationConfig`. */
const generationConfigOf = (request: ModelRequest, profile: GoogleProfile): JsonObject => ({
  ...(request.temperature !== undefined && { temperature: request.temperature }),
  ...(request.topP !== undefined && { topP: request.topP }),
  ...(request.maxOutputTokens !== undefined && { maxOutputTokens: request.maxOutputTokens }),
  ...(request.stopSequences?.length && { stopSequences: request.stopSequences }),
  ...(request.seed !== undefined && { seed: request.seed }),
  ...(request.outputSchema && {
    responseMimeType: 'application/json',
    responseJsonSchema: toDialect(request.outputSchema, geminiDialect),
  }),
  // Models that cannot think answer any thinkingConfig with an error.
  ...(request.thinking !== undefined &&
    profile.thinking && { thinkingConfig: thinkingConfigOf(request.thinking, profile) }),
})

/** Gemini 2.5 takes thinking tokens, Gemini 3 a level; each rejects the other's field. */
const thinkingConfigOf = (thinking: Thinking, { budget, efforts }: GoogleProfile): JsonObject =>
  budget ? budgetConfig(budgetFor(thinking), budget) : levelConfig(thinking, efforts)

const levels: readonly EffortWord[] = ['minimal', 'low', 'medium', 'high']

const levelConfig = (thinking: Thinking, efforts: readonly EffortWord[] = levels): JsonObject => {
  const level = effortFor(thinking, efforts)
  return {
    ...(thinking !== false && { includeThoughts: true }),
    ...(level !== undefined && { thinkingLevel: level.toUpperCase() }),
  }
}

const budgetConfig = (
  tokens: number | undefined,
  { min, max, canStop }: NonNullable<GoogleProfile['budget']>,
): JsonObject => {
  if (tokens === undefined) return { includeThoughts: true }
  // A negative budget means "as much as the model likes" and cannot be compared.
  if (tokens < 0) return { includeThoughts: true, thinkingBudget: -1 }
  // Asking for thoughts while thinking is off is an error.
  if (tokens === 0 && canStop) return { thinkingBudget: 0 }
  return {
    ...(tokens !== 0 && { includeThoughts: true }),
    thinkingBudget: Math.min(Math.max(tokens, min), max),
  }
}

/** The name of a model as a part of a path: Google's and Vertex's have slashes, and versions after an `@`. */
export const modelPath = (model: string): string =>
  model
    .split('/')
    .map((part) => encodeURIComponent(part).replaceAll('%40', '@'))
    .join('/')
