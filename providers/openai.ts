import { defineProvider } from './defineProvider.ts'
import { embeddingsProtocols } from './embeddings/index.ts'
import type { Recover } from './httpChatModel.ts'
import { openaiChat, openaiChatProfile } from './openai-chat/index.ts'
import {
  isSummaryRefused,
  isUnknownPreviousResponse,
  needsResponses,
  type OpenAIResponsesProfile,
  openaiResponses,
  openaiResponsesProfile,
  withoutPreviousResponse,
} from './openai-responses/index.ts'
import { isOtherServer } from './otherServer.ts'
import type { Provider } from './provider.ts'

const embeddings = embeddingsProtocols.get('openai')

const place = {
  baseUrl: 'https://api.openai.com/v1',
  keyVariable: 'OPENAI_API_KEY',
  defaultModel: 'gpt-6-luna',
  models: { path: '/models' },
  ...(embeddings && { embeddings: { protocol: embeddings, defaultModel: 'text-embedding-3-small' } }),
}

const recover: Recover<OpenAIResponsesProfile> = (error, request, profile) => {
  if (isUnknownPreviousResponse(error)) {
    const whole = withoutPreviousResponse(request)
    return whole && { request: whole }
  }
  if (isSummaryRefused(error) && profile.reasoningSummary !== false) {
    return { profile: { ...profile, reasoningSummary: false } }
  }
  return undefined
}

const overResponses = (name: string): Provider =>
  defineProvider({ name, protocol: openaiResponses, profile: openaiResponsesProfile, recover, ...place })

const overChat = (name: string): Provider =>
  defineProvider({ name, protocol: openaiChat, profile: openaiChatProfile, ...place })

/**
 * OpenAI, which speaks two protocols. `openai` speaks the one that the model needs on OpenAI's own host: Responses for
 * those of which chat completions refuse something, chat completions for the rest. On other servers it speaks chat
 * completions, which is what they all have.
 */
export const openai = (name: 'openai' | 'openai-responses' | 'openai-chat'): Provider => {
  if (name === 'openai-responses') return overResponses(name)
  const chat = overChat(name)
  if (name === 'openai-chat') return chat
  const responses = overResponses(name)
  return {
    ...responses,
    chatModel: (model = place.defaultModel, options) => {
      const isChat = isOtherServer(place.baseUrl, options) || !needsResponses(options.profile?.like ?? model)
      return (isChat ? chat : responses).chatModel(model, options)
    },
  }
}
