import type { JsonObject } from '../../src/messages/json.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import type { GoogleProfile } from './profile.ts'
import { geminiSchema } from './schema.ts'
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
    responseJsonSchema: geminiSchema(request.outputSchema),
  }),
  // Models that cannot think answer any thinkingConfig with an error.
  ...(request.thinking !== undefined &&
    profile.thinking && { thinkingConfig: thinkingConfigOf(request.thinking, profile) }),
})
