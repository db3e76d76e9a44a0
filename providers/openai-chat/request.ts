import type { JsonObject } from '../../src/messages/json.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import { cacheKey } from '../wire/promptCache.ts'
import type { Target, WireRequest } from '../wire/protocol.ts'
import { withProviderOptions } from '../wire/providerOptions.ts'
import { serverToolsOf } from '../wire/serverTools.ts'
import { markedMessages } from './cacheMarkers.ts'
import { chatMessages } from './history.ts'
import type { OpenAIChatProfile, RefusedSetting } from './profile.ts'
import { chatServerTools } from './serverTools.ts'
import { thinkingSettings } from './thinkingSettings.ts'
import { responseFormat, toolSettings } from './tools.ts'

export const chatRequest = (request: ModelRequest, target: Target<OpenAIChatProfile>): WireRequest => {
  const { profile } = target
  const {
    rejectsStreamOptions = false,
    strictSchemas = true,
    refuses = [],
    promptCache,
    serverTools,
  } = profile
  const messages = chatMessages(request.messages, target)
  const body: JsonObject = {
    model: target.model,
    messages: promptCache === 'markers' ? markedMessages(messages, request.cache) : messages,
    stream: true,
    ...(!rejectsStreamOptions && { stream_options: { include_usage: true } }),
    ...samplingSettings(request, profile),
    ...thinkingSettings(request, target),
    ...toolSettings(request, {
      strictSchemas,
      required: 'required',
      refusesParallel: refuses.includes('parallelToolCalls'),
      serverTools: serverToolsOf(request, target, serverTools ? chatServerTools[serverTools] : {}),
    }),
    ...responseFormat(request.outputSchema, strictSchemas),
    ...(promptCache === 'key' && cacheKey(request)),
  }
  return { path: '/chat/completions', body: withProviderOptions(body, request.providerOptions) }
}

const samplingSettings = (request: ModelRequest, profile: OpenAIChatProfile): JsonObject => {
  const { maxTokensField = 'max_completion_tokens', refuses = [] } = profile
  const { temperature, topP, maxOutputTokens, stopSequences = [], seed } = request
  const takes = (setting: RefusedSetting) => !refuses.includes(setting)
  return {
    ...(temperature !== undefined && takes('temperature') && { temperature }),
    ...(topP !== undefined && takes('topP') && { top_p: topP }),
    ...(maxOutputTokens !== undefined && { [maxTokensField]: maxOutputTokens }),
    ...(stopSequences.length > 0 && takes('stopSequences') && { stop: stopSequences }),
    ...(seed !== undefined && takes('seed') && { seed }),
  }
}
