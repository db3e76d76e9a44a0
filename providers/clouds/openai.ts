import type { ChatModel } from '../../src/model/chatModel.ts'
import { chatProfileAt } from '../chatHosts.ts'
import { defineProvider, type ProviderPreset } from '../defineProvider.ts'
import { openaiEmbeddings } from '../embeddings/protocols.ts'
import { bearer, isOtherServer, serverIn } from '../http/connectionOf.ts'
import type { Recover } from '../http/httpChatModel.ts'
import { factsOf } from '../models/modelFacts.ts'
import { xaiModels } from '../models/vendors.ts'
import {
  gatewayProfile,
  type OpenAIChatProfile,
  openaiChat,
  openaiChatProfile,
} from '../openai-chat/index.ts'
import {
  isUnknownPreviousResponse,
  needsResponses,
  type OpenAIResponsesProfile,
  openaiResponses,
  openaiResponsesProfile,
  responsesProfileOf,
  withoutPreviousResponse,
} from '../openai-responses/index.ts'
import type { Provider } from '../provider.ts'

type Host = Omit<
  ProviderPreset<OpenAIChatProfile & OpenAIResponsesProfile>,
  'protocol' | 'profile' | 'recover'
>

/** A host of OpenAI's models under three names: by what the model needs, over Responses, over chat completions. */
const overBothProtocols = ({ name, ...host }: Host): Provider[] => [
  byModel({ ...host, name }),
  responses({ ...host, name: `${name}-responses` }),
  chat({ ...host, name: `${name}-chat` }),
]

/**
 * OpenAI's own hosts speak the protocol that the model needs: Responses for those of which chat completions refuse
 * something, chat completions for the rest. Other servers get chat completions, which they all have.
 */
const byModel = (host: Host): Provider => {
  const [overChat, overResponses] = [chat(host), responses(host)]
  return {
    ...overResponses,
    chatModel: (model = host.defaultModel, options) => {
      const isChat = isOtherServer(host, options) || !needsResponses(options.profile?.like ?? model)
      if (!isChat) return overResponses.chatModel(model, options)
      const chatModel = overChat.chatModel(model, options)
      return isOtherServer(host, options)
        ? chatModel
        : withServerTools(chatModel, () => overResponses.chatModel(model, options))
    },
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

const chat = (host: Host): Provider =>
  defineProvider({
    ...host,
    protocol: openaiChat,
    profile: (model, isOther, url) => (isOther ? chatProfileAt(url, model) : openaiChatProfile(model)),
  })

const responses = (host: Host): Provider =>
  defineProvider({ ...host, protocol: openaiResponses, profile: openaiResponsesProfile, recover })

export const recover: Recover = (error, request) => {
  const whole = isUnknownPreviousResponse(error) ? withoutPreviousResponse(request) : undefined
  return whole && { request: whole }
}

/** OpenAI, which speaks two protocols. */
export const openai: readonly Provider[] = overBothProtocols({
  name: 'openai',
  prices: 'openai',
  server: serverIn('OPENAI_BASE_URL'),
  baseUrl: 'https://api.openai.com/v1',
  keyVariable: 'OPENAI_API_KEY',
  defaultModel: 'gpt-6-luna',
  models: { path: '/models' },
  embeddings: { protocol: openaiEmbeddings, defaultModel: 'text-embedding-3-small' },
})

/** xAI, whose chat completions are deprecated. It takes the system prompt as a message. */
export const xai: Provider = defineProvider({
  name: 'xai',
  aliases: ['grok'],
  protocol: openaiResponses,
  server: serverIn('XAI_BASE_URL'),
  baseUrl: 'https://api.x.ai/v1',
  keyVariable: 'XAI_API_KEY',
  defaultModel: 'grok-4.7',
  profile: (model) => ({
    ...responsesProfileOf(factsOf(xaiModels, model)),
    systemAsMessage: true,
    promptCache: 'key',
  }),
  models: { path: '/models' },
  recover,
})

/** Perplexity, which ended its chat completions in September 2026: search models, and those of others with a search. */
export const perplexity: Provider = defineProvider({
  name: 'perplexity',
  protocol: openaiResponses,
  server: serverIn('PERPLEXITY_BASE_URL'),
  baseUrl: 'https://api.perplexity.ai/v1',
  keyVariable: 'PERPLEXITY_API_KEY',
  defaultModel: 'perplexity/sonar',
  // It keeps no responses.
  profile: (model) => ({ ...gatewayProfile(model), stateless: true, reasoningSummary: false }),
  models: { path: '/models' },
})

/** OpenAI's models in Microsoft's cloud, over either of OpenAI's protocols. */
export const azure: readonly Provider[] = overBothProtocols({
  name: 'azure',
  server: serverIn('AZURE_OPENAI_ENDPOINT', '/openai/v1'),
  baseUrl: 'https://{resource}.openai.azure.com/openai/v1',
  hosts: /\.(openai|cognitiveservices|services\.ai)\.azure\.(com|us|cn)$/,
  keyVariable: 'AZURE_OPENAI_API_KEY',
  keyForms: 'a key, or a function that returns an Entra ID token',
  keyHeader: (key, isToken) => (isToken ? bearer(key) : { 'api-key': key }),
  // The model is the name of a deployment, which does not say what it is.
  defaultModel: '',
  embeddings: { protocol: openaiEmbeddings, defaultModel: '' },
  models: { path: '/models' },
})
