import type { ModelProfile } from '../src/model/chatModel.ts'
import { anthropic, anthropicProfile, withoutGrammar } from './anthropic/index.ts'
import { cohere } from './cohere/index.ts'
import { defineProvider } from './defineProvider.ts'
import { embeddingsProtocols } from './embeddings/index.ts'
import { geminiProfile, google } from './google/index.ts'
import { mistral } from './mistral/index.ts'
import { ollama } from './ollama/index.ts'
import { type OpenAIChatProfile, openaiChat } from './openai-chat/index.ts'
import {
  isUnknownPreviousResponse,
  openaiResponses,
  withoutPreviousResponse,
} from './openai-responses/index.ts'
import type { Provider } from './provider.ts'

const embeddings = (name: string, defaultModel: string) => {
  const protocol = embeddingsProtocols.get(name)
  return protocol ? { embeddings: { protocol, defaultModel } } : {}
}

const can = (abilities: Partial<ModelProfile> = {}): ModelProfile => ({
  tools: true,
  parallelTools: true,
  nativeSchema: true,
  schemaWithTools: false,
  thinking: true,
  ...abilities,
  attachments: { images: true, pdf: false, audio: false, links: true, ...abilities.attachments },
})

/** OpenAI's models that reason: they refuse sampling settings and know efforts. */
const isReasoningModel = (model: string): boolean => /(^|\/)(o\d|gpt-5(?!.*chat)|gpt-[6-9])/.test(model)

const lowestEffort = (model: string): 'none' | 'minimal' | 'low' =>
  /(^|\/)o\d/.test(model) ? 'low' : /gpt-5($|-)/.test(model) ? 'minimal' : 'none'

const openaiAbilities = can({
  schemaWithTools: true,
  attachments: { images: true, pdf: true, audio: true, links: true },
})

/** OpenAI itself, or any server that speaks its chat protocol: nobody knows the quirks of those. */
const openaiProfile = (model: string, isOwnServer: boolean): OpenAIChatProfile => ({
  ...openaiAbilities,
  thinking: isReasoningModel(model) || isOwnServer,
  ...(isReasoningModel(model) && {
    refuses: ['temperature', 'topP', 'stopSequences'],
    lowestEffort: lowestEffort(model),
  }),
  ...(isOwnServer && {
    strictSchemas: false,
    toolCallIds: 'any',
    maxTokensField: isReasoningModel(model) ? 'max_completion_tokens' : 'max_tokens',
    reasoningReplay: /deepseek|kimi/i.test(model) ? 'reasoning_content' : 'none',
  }),
})

const compatible =
  (quirks: Partial<OpenAIChatProfile> = {}, abilities: Partial<ModelProfile> = {}) =>
  () => ({
    ...can(abilities),
    strictSchemas: false,
    maxTokensField: 'max_tokens' as const,
    toolCallIds: 'any' as const,
    ...quirks,
  })

const models = { models: { path: '/models' } }

/** The thirteen providers statewire knows by name. */
export const presets: readonly Provider[] = [
  defineProvider({
    name: 'openai',
    protocol: openaiChat,
    baseUrl: 'https://api.openai.com/v1',
    keyVariable: 'OPENAI_API_KEY',
    defaultModel: 'gpt-5-mini',
    profile: openaiProfile,
    ...embeddings('openai', 'text-embedding-3-small'),
    ...models,
  }),
  defineProvider({
    name: 'openai-responses',
    protocol: openaiResponses,
    baseUrl: 'https://api.openai.com/v1',
    keyVariable: 'OPENAI_API_KEY',
    defaultModel: 'gpt-5-mini',
    profile: (model) => ({
      ...openaiAbilities,
      thinking: isReasoningModel(model),
      fixedSampling: isReasoningModel(model),
      lowestEffort: lowestEffort(model),
      anyFile: true,
    }),
    recover: (request, error) =>
      isUnknownPreviousResponse(error) ? withoutPreviousResponse(request) : undefined,
    ...embeddings('openai-responses', 'text-embedding-3-small'),
    ...models,
  }),
  defineProvider({
    name: 'openrouter',
    protocol: openaiChat,
    baseUrl: 'https://openrouter.ai/api/v1',
    keyVariable: 'OPENROUTER_API_KEY',
    defaultModel: 'openai/gpt-5-mini',
    profile: compatible(
      { thinkingControl: 'reasoning', reasoningReplay: 'reasoning_details', pdfLinks: true },
      { attachments: { images: true, pdf: true, audio: true, links: true } },
    ),
    ...embeddings('openrouter', 'openai/text-embedding-3-small'),
    ...models,
  }),
  defineProvider({
    name: 'groq',
    protocol: openaiChat,
    baseUrl: 'https://api.groq.com/openai/v1',
    keyVariable: 'GROQ_API_KEY',
    defaultModel: 'openai/gpt-oss-120b',
    // Groq streams no schema-bound answers.
    profile: compatible({ maxTokensField: 'max_completion_tokens' }, { nativeSchema: false }),
    ...models,
  }),
  defineProvider({
    name: 'together',
    protocol: openaiChat,
    baseUrl: 'https://api.together.xyz/v1',
    keyVariable: 'TOGETHER_API_KEY',
    defaultModel: 'openai/gpt-oss-120b',
    profile: compatible(),
    ...embeddings('together', 'intfloat/multilingual-e5-large-instruct'),
    ...models,
  }),
  defineProvider({
    name: 'fireworks',
    protocol: openaiChat,
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    keyVariable: 'FIREWORKS_API_KEY',
    defaultModel: 'accounts/fireworks/models/gpt-oss-120b',
    profile: compatible(),
    ...embeddings('fireworks', 'nomic-ai/nomic-embed-text-v1.5'),
    ...models,
  }),
  defineProvider({
    name: 'nvidia',
    protocol: openaiChat,
    baseUrl: 'https://integrate.api.nvidia.com/v1',
    keyVariable: 'NVIDIA_API_KEY',
    defaultModel: 'openai/gpt-oss-120b',
    // Whether a NIM container knows JSON Schema depends on its engine.
    profile: compatible({ thinkingControl: 'chat_template_kwargs' }, { nativeSchema: false }),
    ...embeddings('nvidia', 'nvidia/nv-embedqa-e5-v5'),
    ...models,
  }),
  defineProvider({
    name: 'ollama-openai',
    protocol: openaiChat,
    baseUrl: 'http://localhost:11434/v1',
    defaultModel: 'qwen3:8b',
    profile: compatible({}, { attachments: { images: true, pdf: false, audio: false, links: false } }),
    ...embeddings('ollama-openai', 'nomic-embed-text'),
    ...models,
  }),
  defineProvider({
    name: 'anthropic',
    aliases: ['claude'],
    protocol: anthropic,
    baseUrl: 'https://api.anthropic.com/v1',
    keyVariable: 'ANTHROPIC_API_KEY',
    keyHeader: (key) => ({ 'x-api-key': key }),
    defaultModel: 'claude-sonnet-5',
    profile: anthropicProfile,
    recover: withoutGrammar,
    models: { path: '/models?limit=1000' },
  }),
  defineProvider({
    name: 'google',
    aliases: ['gemini'],
    protocol: google,
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    keyVariable: 'GEMINI_API_KEY',
    keyHeader: (key) => ({ 'x-goog-api-key': key }),
    defaultModel: 'gemini-2.5-flash',
    profile: geminiProfile,
    ...embeddings('google', 'gemini-embedding-001'),
    models: { path: '/models?pageSize=1000' },
  }),
  defineProvider({
    name: 'ollama',
    protocol: ollama,
    baseUrl: 'http://localhost:11434/api',
    defaultModel: 'qwen3:8b',
    profile: () => can({ attachments: { images: true, pdf: false, audio: false, links: false } }),
    ...embeddings('ollama', 'nomic-embed-text'),
    models: { path: '/tags' },
  }),
  defineProvider({
    name: 'mistral',
    protocol: mistral,
    baseUrl: 'https://api.mistral.ai/v1',
    keyVariable: 'MISTRAL_API_KEY',
    defaultModel: 'mistral-small-latest',
    profile: (model) => ({
      ...can({
        thinking: /magistral|small|medium/.test(model),
        attachments: { images: true, pdf: true, audio: /voxtral/.test(model), links: true },
      }),
      ...(/magistral/.test(model) && { thinkingControl: 'prompt_mode' as const }),
    }),
    ...embeddings('mistral', 'mistral-embed'),
    ...models,
  }),
  defineProvider({
    name: 'cohere',
    protocol: cohere,
    baseUrl: 'https://api.cohere.com/v2',
    keyVariable: 'COHERE_API_KEY',
    defaultModel: 'command-a-03-2025',
    profile: (model) => can({ thinking: /reasoning/.test(model) }),
    ...embeddings('cohere', 'embed-v4.0'),
    models: { path: '/models?page_size=1000', baseUrl: 'https://api.cohere.com/v1' },
  }),
]
