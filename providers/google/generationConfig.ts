import type { JsonObject } from '../../src/messages/json.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import { toDialect } from '../../src/schema/toDialect.ts'
import type { GoogleProfile } from './profile.ts'
import { geminiDialect } from './schemaDialect.ts'
import { thinkingConfigOf } from './thinkingConfig.ts'

/** Sampling, length, thinking and answer format: everything Gemini keeps under `generationConfig`. */
export const generationConfigOf = (request: ModelRequest, profile: GoogleProfile): JsonObject => ({
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
