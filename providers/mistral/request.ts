import type { JsonObject } from '../../src/messages/json.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import { responseFormat, toolSettings } from '../openai-chat/tools.ts'
import { cacheKey } from '../wire/promptCache.ts'
import type { Target, WireRequest } from '../wire/protocol.ts'
import { withProviderOptions } from '../wire/providerOptions.ts'
import { serverToolsOf } from '../wire/serverTools.ts'
import { mistralMessages } from './history.ts'
import type { MistralProfile } from './profile.ts'
import { mistralServerTools } from './serverTools.ts'
import { thinkingSettings } from './thinkingSettings.ts'

/** Mistral answers 422 to every unknown field, so no field of OpenAI's is sent by default. */
export const mistralRequest = (request: ModelRequest, target: Target<MistralProfile>): WireRequest => {
  const { temperature, topP, maxOutputTokens, stopSequences = [], seed } = request
  const body: JsonObject = {
    model: target.model,
    messages: mistralMessages(request.messages, target),
    stream: true,
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(maxOutputTokens !== undefined && { max_tokens: maxOutputTokens }),
    ...(stopSequences.length > 0 && { stop: stopSequences }),
    ...(seed !== undefined && { random_seed: seed }),
    ...thinkingSettings(request.thinking, target.profile),
    ...toolSettings(request, {
      strictSchemas: true,
      required: 'any',
      refusesParallel: false,
      serverTools: serverToolsOf(request, target, mistralServerTools),
    }),
    ...responseFormat(request.outputSchema, true),
    ...cacheKey(request),
  }
  return { path: '/chat/completions', body: withProviderOptions(body, request.providerOptions) }
}
