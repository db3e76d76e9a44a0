import { defineProvider } from './defineProvider.ts'
import { openaiEmbeddings } from './embeddings/index.ts'
import { chatProfile, openaiChat } from './openai-chat/index.ts'
import { openaiProfile } from './openaiProfiles.ts'
import type { Provider } from './provider.ts'
import { serverIn } from './server.ts'

const models = { path: '/models' }

/** Only who runs a server of one's own knows its models. */
const ownModels = { defaultModel: '', embeddings: { protocol: openaiEmbeddings, defaultModel: '' }, models }

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
    // Those of its models that reason refuse stop sequences, the others an effort.
    profile: (model) => ({
      ...chatProfile,
      schemaWithTools: true,
      maxTokensField: 'max_completion_tokens',
      thinking: !/non-reasoning/.test(model),
      ...(!/non-reasoning/.test(model) && { refuses: ['stopSequences'] }),
    }),
    models,
  }),
  defineProvider({
    name: 'deepseek',
    protocol: openaiChat,
    server: serverIn('DEEPSEEK_BASE_URL'),
    baseUrl: 'https://api.deepseek.com',
    keyVariable: 'DEEPSEEK_API_KEY',
    defaultModel: 'deepseek-flash',
    profile: (model) => ({
      ...chatProfile,
      // It promises JSON, but not JSON of a schema.
      nativeSchema: false,
      thinkingControl: 'thinking',
      reasoningReplay: 'reasoning_content',
      attachments: { images: /vision/.test(model), pdf: false, audio: false, links: /vision/.test(model) },
    }),
    models,
  }),
  defineProvider({
    ...ownModels,
    name: 'lmstudio',
    protocol: openaiChat,
    server: serverIn('LMSTUDIO_BASE_URL'),
    baseUrl: 'http://localhost:1234/v1',
    profile: () => ({ ...chatProfile, attachments: { ...chatProfile.attachments, links: false } }),
  }),
  defineProvider({
    ...ownModels,
    name: 'vllm',
    protocol: openaiChat,
    server: serverIn('VLLM_BASE_URL'),
    baseUrl: 'http://localhost:8000/v1',
    profile: () => ({ ...chatProfile, thinkingControl: 'chat_template_kwargs' }),
  }),
  defineProvider({
    ...ownModels,
    name: 'openai-compatible',
    protocol: openaiChat,
    baseUrl: '{baseUrl}',
    profile: (model) => openaiProfile(model, true),
  }),
]
