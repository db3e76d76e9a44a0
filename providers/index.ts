/**
 * The wire protocols, and what is needed to add a provider.
 *
 * @module statewire/providers
 */

export type { Dialect } from '../src/schema/dialect.ts'
export { toDialect } from '../src/schema/toDialect.ts'
export { type AnthropicProfile, anthropic, anthropicProfile } from './anthropic/index.ts'
export { type CohereProfile, cohere, cohereProfile } from './cohere/index.ts'
export { defineProvider, type ProviderPreset, routed } from './defineProvider.ts'
export { openaiEmbeddings } from './embeddings/protocols.ts'
export type { EmbeddingsProtocol, EmbeddingsTarget } from './embeddings/vectors.ts'
export { type GoogleProfile, geminiProfile, google } from './google/index.ts'
export type { KeyHeader } from './http/connection.ts'
export { type EnvironmentServer, type Place, serverIn } from './http/connectionOf.ts'
export type { Recover } from './http/httpChatModel.ts'
export { type MistralProfile, mistral, mistralProfile } from './mistral/index.ts'
export type { EffortWord, RefusedSetting } from './models/modelFacts.ts'
export { type OllamaProfile, ollama, ollamaProfile } from './ollama/index.ts'
export { chatProfile, type OpenAIChatProfile, openaiChat } from './openai-chat/index.ts'
export {
  type OpenAIResponsesProfile,
  openaiResponses,
  openaiResponsesProfile,
} from './openai-responses/index.ts'
export type {
  Capability,
  ConnectionOptions,
  EmbeddingsModel,
  EmbedOptions,
  ModelInfo,
  ProfileOverride,
  Provider,
  ProviderInfo,
  RequestOptions,
  TransportOptions,
} from './provider.ts'
export { truncated } from './wire/decoder.ts'
export { streamError } from './wire/error.ts'
export type { Decoder, Protocol, Target, WireError, WireEvent, WireRequest } from './wire/protocol.ts'
export { conversationOf, type IdRule, opaqueOf, wireIdsOf } from './wire/request.ts'
export { ToolCallAssembler, type ToolCallPiece } from './wire/toolCallAssembler.ts'
