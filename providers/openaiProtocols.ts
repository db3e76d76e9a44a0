import { defineProvider, type ProviderPreset } from './defineProvider.ts'
import type { Recover } from './http/httpChatModel.ts'
import { isOtherServer } from './http/server.ts'
import { type OpenAIChatProfile, openaiChat, openaiChatProfile } from './openai-chat/index.ts'
import {
  isSummaryRefused,
  isUnknownPreviousResponse,
  needsResponses,
  type OpenAIResponsesProfile,
  openaiResponses,
  openaiResponsesProfile,
  withoutPreviousResponse,
} from './openai-responses/index.ts'
import type { Provider } from './provider.ts'

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

type Host = Omit<
  ProviderPreset<OpenAIChatProfile & OpenAIResponsesProfile>,
  'protocol' | 'profile' | 'recover'
>

const responses = (host: Host): Provider =>
  defineProvider({ ...host, protocol: openaiResponses, profile: openaiResponsesProfile, recover })

const chat = (host: Host): Provider =>
  defineProvider({ ...host, protocol: openaiChat, profile: openaiChatProfile })

/**
 * OpenAI's models where they are at home speak the protocol that the model needs: Responses for those of which chat
 * completions refuse something, chat completions for the rest. Other servers are spoken to in chat completions, which is
 * what they all have.
 */
const byModel = (host: Host): Provider => {
  const [overChat, overResponses] = [chat(host), responses(host)]
  return {
    ...overResponses,
    chatModel: (model = host.defaultModel, options) => {
      const isChat = isOtherServer(host, options) || !needsResponses(options.profile?.like ?? model)
      return (isChat ? overChat : overResponses).chatModel(model, options)
    },
  }
}

/** The ways to reach OpenAI's models at a host. */
export const openaiProtocols = { byModel, chat, responses }
