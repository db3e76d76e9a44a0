import { anthropic, anthropicHeaders, anthropicProfile } from './anthropic/index.ts'
import { bedrock } from './clouds/bedrock.ts'
import { azure, openai } from './clouds/openai.ts'
import { vertex } from './clouds/vertex.ts'
import { cohere, cohereProfile } from './cohere/index.ts'
import { defineProvider } from './defineProvider.ts'
import {
  cohereEmbeddings,
  fireworksEmbeddings,
  googleEmbeddings,
  mistralEmbeddings,
  nvidiaEmbeddings,
  ollamaEmbeddings,
  ollamaOpenaiEmbeddings,
  openaiEmbeddings,
  openrouterEmbeddings,
  togetherEmbeddings,
} from './embeddings/protocols.ts'
import { geminiProfile, google } from './google/index.ts'
import { serverIn } from './http/connectionOf.ts'
import { mistral, mistralProfile } from './mistral/index.ts'
import { fireworksModels, groqModels, nvidiaModels, togetherModels } from './models/hosts.ts'
import { openWeightModels } from './models/openWeights.ts'
import { deepseekModels, xaiModels } from './models/vendors.ts'
import { ollama, ollamaProfile, ollamaServer } from './ollama/index.ts'
import {
  gatewayProfile,
  hostedProfile,
  type OpenAIChatProfile,
  openaiChat,
  openaiChatProfile,
} from './openai-chat/index.ts'
import type { Provider } from './provider.ts'

const models = { models: { path: '/models' } }

/** The models of a local server are not known here. */
const ownModels = {
  defaultModel: '',
  embeddings: { protocol: openaiEmbeddings, defaultModel: '' },
  ...models,
}

const withoutLinks = (profile: OpenAIChatProfile): OpenAIChatProfile => ({
  ...profile,
  attachments: { ...profile.attachments, links: false },
})

/** The providers that statewire knows by name. */
export const presets: readonly Provider[] = [
  ...openai,
  defineProvider({
    name: 'openrouter',
    protocol: openaiChat,
    server: serverIn('OPENROUTER_BASE_URL'),
    baseUrl: 'https://openrouter.ai/api/v1',
    keyVariable: 'OPENROUTER_API_KEY',
    defaultModel: 'openai/gpt-6-luna',
    profile: (model) => ({
      ...gatewayProfile(model),
      strictSchemas: false,
      maxTokensField: 'max_tokens',
      toolCallIds: 'any',
      thinkingControl: 'reasoning',
      efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
      reasoningReplay: 'reasoning_details',
      pdfLinks: true,
      replaysImages: true,
      serverTools: 'openrouter',
      // Claude caches nothing that is not marked.
      ...(model.includes('claude') && { promptCache: 'markers' }),
    }),
    embeddings: { protocol: openrouterEmbeddings, defaultModel: 'openai/text-embedding-3-small' },
    ...models,
  }),
  defineProvider({
    name: 'groq',
    protocol: openaiChat,
    server: serverIn('GROQ_BASE_URL', '/openai/v1'),
    baseUrl: 'https://api.groq.com/openai/v1',
    keyVariable: 'GROQ_API_KEY',
    defaultModel: 'openai/gpt-oss-120b',
    // Groq streams no schema-bound answers.
    profile: hostedProfile(groqModels, {
      maxTokensField: 'max_completion_tokens',
      nativeSchema: false,
    }),
    ...models,
  }),
  defineProvider({
    name: 'together',
    protocol: openaiChat,
    server: serverIn('TOGETHER_BASE_URL'),
    baseUrl: 'https://api.together.xyz/v1',
    keyVariable: 'TOGETHER_API_KEY',
    defaultModel: 'openai/gpt-oss-120b',
    profile: hostedProfile(togetherModels),
    embeddings: { protocol: togetherEmbeddings, defaultModel: 'intfloat/multilingual-e5-large-instruct' },
    ...models,
  }),
  defineProvider({
    name: 'fireworks',
    protocol: openaiChat,
    server: serverIn('FIREWORKS_BASE_URL'),
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    keyVariable: 'FIREWORKS_API_KEY',
    defaultModel: 'accounts/fireworks/models/gpt-oss-120b',
    profile: hostedProfile(fireworksModels),
    embeddings: { protocol: fireworksEmbeddings, defaultModel: 'nomic-ai/nomic-embed-text-v1.5' },
    ...models,
  }),
  defineProvider({
    name: 'nvidia',
    protocol: openaiChat,
    server: serverIn('NVIDIA_BASE_URL'),
    baseUrl: 'https://integrate.api.nvidia.com/v1',
    keyVariable: 'NVIDIA_API_KEY',
    defaultModel: 'nvidia/nemotron-3-ultra-550b-a55b',
    // Whether a NIM container knows JSON Schema depends on its engine.
    profile: hostedProfile(nvidiaModels, { nativeSchema: false }),
    embeddings: { protocol: nvidiaEmbeddings, defaultModel: 'nvidia/nv-embedqa-e5-v5' },
    ...models,
  }),
  defineProvider({
    name: 'ollama-openai',
    protocol: openaiChat,
    server: ollamaServer('/v1'),
    baseUrl: 'http://localhost:11434/v1',
    defaultModel: 'qwen3:8b',
    profile: (model) => ({ ...hostedProfile(openWeightModels)(model), ...ollamaProfile(model) }),
    embeddings: { protocol: ollamaOpenaiEmbeddings, defaultModel: 'nomic-embed-text' },
    ...models,
  }),
  defineProvider({
    name: 'anthropic',
    aliases: ['claude'],
    protocol: anthropic,
    server: serverIn('ANTHROPIC_BASE_URL', '/v1'),
    baseUrl: 'https://api.anthropic.com/v1',
    keyVariable: 'ANTHROPIC_API_KEY',
    keyHeader: (key) => ({ 'x-api-key': key }),
    headers: anthropicHeaders,
    defaultModel: 'claude-sonnet-5-5',
    profile: anthropicProfile,
    models: { path: '/models?limit=1000' },
  }),
  defineProvider({
    name: 'google',
    aliases: ['gemini'],
    protocol: google,
    server: serverIn('GOOGLE_GEMINI_BASE_URL', '/v1beta'),
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    keyVariable: 'GEMINI_API_KEY',
    keyHeader: (key) => ({ 'x-goog-api-key': key }),
    defaultModel: 'gemini-3.8-flash',
    profile: geminiProfile,
    embeddings: { protocol: googleEmbeddings, defaultModel: 'gemini-embedding-001' },
    models: { path: '/models?pageSize=1000' },
  }),
  defineProvider({
    name: 'ollama',
    protocol: ollama,
    server: ollamaServer('/api'),
    baseUrl: 'http://localhost:11434/api',
    defaultModel: 'qwen3:8b',
    profile: ollamaProfile,
    embeddings: { protocol: ollamaEmbeddings, defaultModel: 'nomic-embed-text' },
    models: { path: '/tags' },
  }),
  defineProvider({
    name: 'mistral',
    protocol: mistral,
    server: serverIn('MISTRAL_BASE_URL'),
    baseUrl: 'https://api.mistral.ai/v1',
    keyVariable: 'MISTRAL_API_KEY',
    defaultModel: 'mistral-small-latest',
    profile: mistralProfile,
    embeddings: { protocol: mistralEmbeddings, defaultModel: 'mistral-embed' },
    ...models,
  }),
  defineProvider({
    name: 'cohere',
    protocol: cohere,
    server: serverIn('CO_API_URL', '/v2'),
    baseUrl: 'https://api.cohere.com/v2',
    keyVariable: 'COHERE_API_KEY',
    defaultModel: 'command-a-plus-05-2026',
    profile: cohereProfile,
    embeddings: { protocol: cohereEmbeddings, defaultModel: 'embed-v4.0' },
    models: {
      path: '/models?page_size=1000',
      baseUrl: (url) => url.replace('.cohere.com/v2', '.cohere.com/v1'),
    },
  }),
  defineProvider({
    name: 'xai',
    aliases: ['grok'],
    protocol: openaiChat,
    server: serverIn('XAI_BASE_URL'),
    baseUrl: 'https://api.x.ai/v1',
    keyVariable: 'XAI_API_KEY',
    defaultModel: 'grok-4.7',
    profile: hostedProfile(xaiModels, { schemaWithTools: true, maxTokensField: 'max_completion_tokens' }),
    ...models,
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
    ...models,
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
  ...azure,
  vertex,
  bedrock,
]
