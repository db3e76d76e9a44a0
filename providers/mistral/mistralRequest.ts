import type { JsonObject } from '../../src/messages/json.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import { responseFormat, toolSettings } from '../openai-chat/chatTools.ts'
import { cacheKey } from '../promptCache.ts'
import type { Target, WireRequest } from '../protocol.ts'
import { withProviderOptions } from '../providerOptions.ts'
import { serverToolsOf } from '../serverTools.ts'
import { mistralMessages } from './mistralMessages.ts'
import type { MistralProfile } from './profile.ts'
import { mistralServerTools } from './serverTools.ts'

/** Mistral answers 422 to every field it does not know, so nothing of OpenAI's goes along by habit. */
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
    ...thinkingSettings(request, target.profile),
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

const thinkingSettings = ({ thinking }: ModelRequest, profile: MistralProfile): JsonObject => {
  if (thinking === undefined || !profile.thinking) return {}
  const { thinkingControl = 'reasoning_effort', gradedEffort = false } = profile
  if (thinkingControl === 'prompt_mode') return { prompt_mode: thinking === false ? null : 'reasoning' }
  if (thinking === false) return { reasoning_effort: 'none' }
  const effort = typeof thinking === 'object' ? thinking.effort : undefined
  return { reasoning_effort: (gradedEffort ? effort : undefined) ?? 'high' }
}
