/**
 * The wire protocols and presets, and what is needed to add a provider.
 *
 * @module statewire/providers
 */

export { type AnthropicProfile, anthropic, anthropicProfile } from './anthropic/index.ts'
export { type CohereProfile, cohere, cohereProfile } from './cohere/index.ts'
export { defineProvider, type ProviderPreset } from './defineProvider.ts'
export { type GoogleProfile, geminiProfile, google } from './google/index.ts'
export { type Connection, type HttpChatModelOptions, httpChatModel, type Recover } from './httpChatModel.ts'
export { type MistralProfile, mistral, mistralProfile } from './mistral/index.ts'
export { modelTables } from './models/index.ts'
export {
  type EffortWord,
  knownModel,
  type Medium,
  type ModelFacts,
  type ModelTable,
  type RefusedSetting,
} from './models/modelFacts.ts'
export { type OllamaProfile, ollama, ollamaProfile } from './ollama/index.ts'
export { type OpenAIChatProfile, openaiChat, openaiChatProfile } from './openai-chat/index.ts'
export {
  type OpenAIResponsesProfile,
  openaiResponses,
  openaiResponsesProfile,
} from './openai-responses/index.ts'
export { presets } from './presets.ts'
export type { ProfileOverride } from './profileOverride.ts'
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
