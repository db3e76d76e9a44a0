import { ConfigurationError } from '../../src/messages/errors.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { userMessage } from '../../src/messages/messages.ts'
import type { ModelRequest, ToolChoice, ToolSpec } from '../../src/model/chatModel.ts'
import { toDialect } from '../../src/schema/toDialect.ts'
import { conversationOf } from '../wire/conversation.ts'
import type { Target, WireRequest } from '../wire/protocol.ts'
import { withProviderOptions } from '../wire/providerOptions.ts'
import { serverToolsOf } from '../wire/serverTools.ts'
import { generationConfigOf } from './generationConfig.ts'
import { contentsOf } from './history.ts'
import type { GoogleProfile } from './profile.ts'
import { geminiDialect } from './schemaDialect.ts'
import { googleServerTools } from './serverTools.ts'

/** A streaming `generateContent` request. The key travels in a header, never in the URL. */
export const googleRequest = (request: ModelRequest, target: Target<GoogleProfile>): WireRequest => {
  const { system, turns } = conversationOf(request.messages)
  const generationConfig = generationConfigOf(request, target.profile)
  const isText = target.profile.systemAsText === true
  const body: JsonObject = {
    ...(system !== '' && !isText && { systemInstruction: { parts: [{ text: system }] } }),
    contents: contentsOf(isText && system !== '' ? [userMessage(system), ...turns] : turns, target),
    ...toolSettings(request, target),
    ...(Object.keys(generationConfig).length > 0 && { generationConfig }),
  }
  return {
    path: `/${resourceOf(target.model)}:streamGenerateContent?alt=sse`,
    body: withProviderOptions(body, request.providerOptions),
  }
}

/** `gemini-3-flash` → `models/gemini-3-flash`; names that say their collection keep it. */
const resourceOf = (model: string): string => {
  const name = /^(models|tunedModels)\//.test(model) ? model : `models/${model}`
  return name.split('/').map(encodeURIComponent).join('/')
}

const toolSettings = (request: ModelRequest, target: Target<GoogleProfile>): JsonObject => {
  const { tools = [], toolChoice } = request
  const { profile, provider, model } = target
  const serverTools = serverToolsOf(request, target, googleServerTools)
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
