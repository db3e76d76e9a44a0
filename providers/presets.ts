import { anthropic, anthropicHeaders, anthropicProfile, withoutGrammar } from './anthropic/index.ts'
import { azure } from './azure.ts'
import { bedrock } from './bedrock/index.ts'
import { cohere, cohereProfile } from './cohere/index.ts'
import { compatibleServers } from './compatibleServers.ts'
import { defineProvider } from './defineProvider.ts'
import { embeddingsProtocols } from './embeddings/index.ts'
import { geminiProfile, google } from './google/index.ts'
import { serverIn } from './http/server.ts'
import { mistral, mistralProfile } from './mistral/index.ts'
import { fireworksModels, groqModels, nvidiaModels, togetherModels } from './models/hosts.ts'
import { openWeightModels } from './models/openWeights.ts'
import { ollamaServer } from './ollama/host.ts'
import { ollama, ollamaProfile } from './ollama/index.ts'
import { openai } from './openai.ts'
import { gatewayProfile, hostedProfile, openaiChat } from './openai-chat/index.ts'
import type { Provider } from './provider.ts'
import { vertex } from './vertex/index.ts'

const embeddings = (name: string, defaultModel: string) => {
  const protocol = embeddingsProtocols.get(name)
  return protocol ? { embeddings: { protocol, defaultModel } } : {}
}

const models = { models: { path: '/models' } }

/** The providers statewire knows by name. */
export const presets: readonly Provider[] = [
  openai('openai'),
  openai('openai-responses'),
  openai('openai-chat'),
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
      serverTools: 'openrouter',
      // Claude caches nothing that is not marked.
      ...(model.includes('claude') && { promptCache: 'markers' }),
    }),
    ...embeddings('openrouter', 'openai/text-embedding-3-small'),
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
    ...embeddings('together', 'intfloat/multilingual-e5-large-instruct'),
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
    ...embeddings('fireworks', 'nomic-ai/nomic-embed-text-v1.5'),
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
    ...embeddings('nvidia', 'nvidia/nv-embedqa-e5-v5'),
    ...models,
  }),
  defineProvider({
    name: 'ollama-openai',
    protocol: openaiChat,
    server: ollamaServer('/v1'),
    baseUrl: 'http://localhost:11434/v1',
    defaultModel: 'qwen3:8b',
    profile: (model) => ({ ...hostedProfile(openWeightModels)(model), ...ollamaProfile(model) }),
    ...embeddings('ollama-openai', 'nomic-embed-text'),
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
    recover: withoutGrammar,
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
    ...embeddings('google', 'gemini-embedding-001'),
    models: { path: '/models?pageSize=1000' },
  }),
  defineProvider({
    name: 'ollama',
    protocol: ollama,
    server: ollamaServer('/api'),
    baseUrl: 'http://localhost:11434/api',
    defaultModel: 'qwen3:8b',
    profile: ollamaProfile,
    ...embeddings('ollama', 'nomic-embed-text'),
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
    ...embeddings('mistral', 'mistral-embed'),
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
    ...embeddings('cohere', 'embed-v4.0'),
    models: {
      path: '/models?page_size=1000',
      baseUrl: (url) => url.replace('.cohere.com/v2', '.cohere.com/v1'),
    },
  }),
  ...compatibleServers,
  azure('azure'),
  azure('azure-responses'),
  azure('azure-chat'),
  vertex,
  bedrock,
]
