import type { JsonObject } from '../../src/messages/json.ts'
import type { ModelRequest, Thinking } from '../../src/model/chatModel.ts'
import { type EffortWord, effortFor, someThinking } from '../models/modelFacts.ts'
import { responseFormat, toolSettings } from '../openai-chat/request.ts'
import type { Target, WireRequest } from '../wire/protocol.ts'
import { cacheKey, withProviderOptions } from '../wire/request.ts'
import { mistralServerTools, serverToolsOf } from '../wire/serverTools.ts'
import { mistralMessages } from './history.ts'
import type { MistralProfile } from './profile.ts'

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

const switched: readonly EffortWord[] = ['none', 'high']

/** The amount of thinking, in the word that the model's generation takes. */
const thinkingSettings = (
  thinking: Thinking | undefined,
  { thinking: canThink, thinkingControl, efforts = switched }: MistralProfile,
): JsonObject => {
  if (thinking === undefined || !canThink) return {}
  if (thinkingControl === 'prompt_mode') return { prompt_mode: thinking === false ? null : 'reasoning' }
  const effort = effortFor(someThinking(thinking), efforts)
  return effort === undefined ? {} : { reasoning_effort: effort }
}
