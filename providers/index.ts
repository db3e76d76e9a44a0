/**
 * The wire protocols and presets, and what is needed to add a provider.
 *
 * @module statewire/providers
 */

export { isJsonObject } from '../src/messages/json.ts'
export type { Dialect, Takes } from '../src/schema/dialect.ts'
export { toDialect } from '../src/schema/toDialect.ts'
export { type AnthropicProfile, anthropic, anthropicHeaders, anthropicProfile } from './anthropic/index.ts'
export { type CohereProfile, cohere, cohereProfile } from './cohere/index.ts'
export { defineProvider, type ProviderPreset } from './defineProvider.ts'
export {
  cohereEmbeddings,
  type Embeddings,
  type EmbeddingsHabits,
  type EmbeddingsProtocol,
  type EmbeddingsTarget,
  googleEmbeddings,
  ollamaEmbeddings,
  openaiEmbeddings,
  openaiLikeEmbeddings,
} from './embeddings/index.ts'
export { type GoogleProfile, geminiProfile, google } from './google/index.ts'
export type { ApiKey, AwsCredentials, Key } from './http/apiKey.ts'
export type { KeyHeader, Wire } from './http/connection.ts'
export type { HeadersLike } from './http/headers.ts'
export {
  type Connection,
  type HttpChatModelOptions,
  httpChatModel,
  type Recover,
} from './http/httpChatModel.ts'
export type { ModelListing } from './http/modelListing.ts'
export { type EnvironmentServer, type Place, type ReadVariable, serverIn } from './http/server.ts'
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
export { chatProfile, type OpenAIChatProfile, openaiChat, openaiChatProfile } from './openai-chat/index.ts'
export {
  type OpenAIResponsesProfile,
  openaiResponses,
  openaiResponsesProfile,
} from './openai-responses/index.ts'
export { presets } from './presets.ts'
export type { ProfileOverride } from './profileOverride.ts'
export type {
  Capability,
  ConnectionOptions,
  EmbeddingsModel,
  EmbedOptions,
  ModelInfo,
  Provider,
  ProviderInfo,
  RequestOptions,
  TransportOptions,
} from './provider.ts'
export { listModels, listProviders, type ProviderFactory, registerProvider } from './registry.ts'
export { routed } from './routed.ts'
export type { AttachedFile, FileKind, InlineFile, LinkedFile } from './wire/attachedFile.ts'
export {
  type AttachmentForm,
  type AttachmentForms,
  attachmentBlocks,
  type ResultContent,
  resultAndFollowUp,
  resultContent,
} from './wire/attachments.ts'
export { type Conversation, conversationOf, type IdRule, opaqueOf, wireIdsOf } from './wire/conversation.ts'
export type { Decoder, Protocol, Target, WireError, WireEvent, WireRequest } from './wire/protocol.ts'
export { withProviderOptions } from './wire/providerOptions.ts'
export { type ServerToolForm, type ServerToolForms, serverToolsOf } from './wire/serverTools.ts'
export { ToolCallAssembler, type ToolCallPiece } from './wire/toolCallAssembler.ts'
export { streamError } from './wire/wireError.ts'
export {
  arrayAt,
  BadWireJson,
  numberAt,
  objectAt,
  parseWireObject,
  stringAt,
  truncated,
} from './wire/wireJson.ts'
