import type { JsonObject } from '../../src/messages/json.ts'
import type { ModelRequest, ToolChoice, ToolSpec } from '../../src/model/chatModel.ts'
import { toDialect } from '../../src/schema/toDialect.ts'
import { conversationOf } from '../conversation.ts'
import type { Target, WireRequest } from '../protocol.ts'
import { contentsOf } from './contents.ts'
import { generationConfigOf } from './generationConfig.ts'
import type { GoogleProfile } from './profile.ts'
import { geminiDialect } from './schemaDialect.ts'

/** A streaming `generateContent` request. The key travels in a header, never in the URL. */
export const googleRequest = (request: ModelRequest, target: Target<GoogleProfile>): WireRequest => {
  const { system, turns } = conversationOf(request.messages)
  const generationConfig = generationConfigOf(request, target.profile)
  const body: JsonObject = {
    ...(system !== '' && { systemInstruction: { parts: [{ text: system }] } }),
    contents: contentsOf(turns, target),
    // A tool choice without tools is an error.
    ...(request.tools?.length && {
      tools: [{ functionDeclarations: request.tools.map(declarationOf) }],
      ...(request.toolChoice !== undefined && {
        toolConfig: { functionCallingConfig: callingConfigOf(request.toolChoice) },
      }),
    }),
    ...(Object.keys(generationConfig).length > 0 && { generationConfig }),
    ...request.providerOptions,
  }
  return { path: `/${resourceOf(target.model)}:streamGenerateContent?alt=sse`, body }
}

/** `gemini-3-flash` → `models/gemini-3-flash`; names that say their collection keep it. */
const resourceOf = (model: string): string => {
  const name = /^(models|tunedModels)\//.test(model) ? model : `models/${model}`
  return name.split('/').map(encodeURIComponent).join('/')
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
