/**
 * The wire protocols and presets, and what is needed to add a provider.
 *
 * @module statewire/providers
 */

export type { Dialect, Takes } from '../src/schema/dialect.ts'
export { toDialect } from '../src/schema/toDialect.ts'
export { type AnthropicProfile, anthropic, anthropicProfile } from './anthropic/index.ts'
export { type CohereProfile, cohere } from './cohere/index.ts'
export { defineProvider, type ProviderPreset } from './defineProvider.ts'
export { type GoogleProfile, geminiProfile, google } from './google/index.ts'
export { type Connection, type HttpChatModelOptions, httpChatModel } from './httpChatModel.ts'
export { type MistralProfile, mistral } from './mistral/index.ts'
export { type OllamaProfile, ollama } from './ollama/index.ts'
export { type OpenAIChatProfile, openaiChat } from './openai-chat/index.ts'
export { type OpenAIResponsesProfile, openaiResponses } from './openai-responses/index.ts'
export { presets } from './presets.ts'
export type { Decoder, Protocol, Target, WireError, WireEvent, WireRequest } from './protocol.ts'
export type {
  Capability,
  ConnectionOptions,
  EmbeddingsModel,
  EmbedOptions,
  ModelInfo,
  Provider,
  ProviderInfo,
} from './provider.ts'
export { listModels, listProviders, type ProviderFactory, registerProvider } from './registry.ts'
