import { defineProvider } from './defineProvider.ts'
import { openaiEmbeddings } from './embeddings/index.ts'
import { serverIn } from './http/server.ts'
import { openWeightModels } from './models/openWeights.ts'
import { deepseekModels, xaiModels } from './models/vendors.ts'
import { hostedProfile, type OpenAIChatProfile, openaiChat, openaiChatProfile } from './openai-chat/index.ts'
import type { Provider } from './provider.ts'

const models = { path: '/models' }

/** The models of a local server are not known here. */
const ownModels = { defaultModel: '', embeddings: { protocol: openaiEmbeddings, defaultModel: '' }, models }

const withoutLinks = (profile: OpenAIChatProfile): OpenAIChatProfile => ({
  ...profile,
  attachments: { ...profile.attachments, links: false },
})

/** Servers that speak OpenAI's chat protocol, each with what is known of it. */
export const compatibleServers: readonly Provider[] = [
  defineProvider({
    name: 'xai',
    aliases: ['grok'],
    protocol: openaiChat,
    server: serverIn('XAI_BASE_URL'),
    baseUrl: 'https://api.x.ai/v1',
    keyVariable: 'XAI_API_KEY',
    defaultModel: 'grok-4.7',
    profile: hostedProfile(xaiModels, { schemaWithTools: true, maxTokensField: 'max_completion_tokens' }),
    models,
  }),
  defineProvider({
    name: 'deepseek',
    protocol: openaiChat,
    server: serverIn('DEEPSEEK_BASE_URL'),
    baseUrl: 'https://api.deepseek.com',
    keyVariable: 'DEEPSEEK_API_KEY',
    defaultModel: 'deepseek-flash',
    // It promises JSON, but not JSON of a schema.
    profile: hostedProfile(deepseekModels, { nativeSchema: false }),
    models,
  }),
  defineProvider({
    ...ownModels,
    name: 'lmstudio',
    protocol: openaiChat,
    server: serverIn('LMSTUDIO_BASE_URL'),
    baseUrl: 'http://localhost:1234/v1',
    profile: (model) => withoutLinks(hostedProfile(openWeightModels)(model)),
  }),
  defineProvider({
    ...ownModels,
    name: 'vllm',
    protocol: openaiChat,
    server: serverIn('VLLM_BASE_URL'),
    baseUrl: 'http://localhost:8000/v1',
    profile: hostedProfile(openWeightModels, { thinkingControl: 'chat_template_kwargs' }),
  }),
  defineProvider({
    ...ownModels,
    name: 'openai-compatible',
    protocol: openaiChat,
    baseUrl: '{baseUrl}',
    profile: (model) => openaiChatProfile(model, true),
  }),
]
