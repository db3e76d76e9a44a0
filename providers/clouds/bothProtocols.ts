import type { ChatModel } from '../../src/model/chatModel.ts'
import { type ChatPreset, type ModelMaker, modelMaker } from '../chatModels.ts'
import { isOtherServer } from '../http/connectionOf.ts'
import type { Recover } from '../http/httpChatModel.ts'
import { type OpenAIChatProfile, openaiChat, openaiChatProfile } from '../openai-chat/index.ts'
import {
  isUnknownPreviousResponse,
  needsResponses,
  type OpenAIResponsesProfile,
  openaiResponses,
  openaiResponsesProfile,
  withoutPreviousResponse,
} from '../openai-responses/index.ts'

/** A host of OpenAI's models: its place, its key, its default model. */
export type OpenAIHost = Omit<
  ChatPreset<OpenAIChatProfile & OpenAIResponsesProfile>,
  'protocol' | 'profile' | 'recover'
>

/** The fields of both protocols: which of the two a model needs may change with its name. */
const profileFields = { ...openaiChat.profileFields, ...openaiResponses.profileFields }

/** The host over chat completions. */
export const overChat = <Host extends OpenAIHost>(host: Host) => ({
  ...host,
  protocol: { ...openaiChat, profileFields },
  profile: openaiChatProfile,
})

/** The host over the Responses API. */
export const overResponses = <Host extends OpenAIHost>(host: Host) => ({
  ...host,
  protocol: { ...openaiResponses, profileFields },
  profile: openaiResponsesProfile,
  recover,
})

/** Sends the whole history once, where the server does not know the response before it. */
export const recover: Recover = (error, request) => {
  const whole = isUnknownPreviousResponse(error) ? withoutPreviousResponse(request) : undefined
  return whole && { request: whole }
}

/**
 * OpenAI's own hosts speak the protocol that the model needs: Responses for those of which chat completions refuse
 * something, chat completions for the rest. Other servers get chat completions, which they all have.
 */
export const byModel = (
  host: OpenAIHost,
  chat: ModelMaker = modelMaker(overChat(host)),
  responses: ModelMaker = modelMaker(overResponses(host)),
): ModelMaker => {
  return (model = host.defaultModel, options) => {
    const isOther = isOtherServer(host, options)
    if (!isOther && needsResponses(options.profile?.like ?? model)) return responses(model, options)
    const chatModel = chat(model, options)
    return isOther ? chatModel : withServerTools(chatModel, () => responses(model, options))
  }
}

/** Chat completions have no server tools: a request with one of them goes to the Responses API. */
const withServerTools = (chatModel: ChatModel, makeOther: () => ChatModel): ChatModel => {
  let other: ChatModel | undefined
  return {
    ...chatModel,
    stream(request, sink) {
      if (!request.serverTools?.length) return chatModel.stream(request, sink)
      other ??= makeOther()
      return other.stream(request, sink)
    },
    redact: (text) => {
      const shown = chatModel.redact?.(text) ?? text
      return other?.redact?.(shown) ?? shown
    },
  }
}
