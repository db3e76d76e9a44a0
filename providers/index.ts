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
export { defineProvider, type ProviderPreset, routed } from './defineProvider.ts'
export {
  cohereEmbeddings,
  type EmbeddingsHabits,
  googleEmbeddings,
  ollamaEmbeddings,
  openaiEmbeddings,
  openaiLikeEmbeddings,
} from './embeddings/protocols.ts'
export type { Embeddings, EmbeddingsProtocol, EmbeddingsTarget } from './embeddings/vectors.ts'
export { type GoogleProfile, geminiProfile, google } from './google/index.ts'
export type { HeadersLike, KeyHeader, Wire } from './http/connection.ts'
export { type EnvironmentServer, type Place, type ReadVariable, serverIn } from './http/connectionOf.ts'
export type { ApiKey, AwsCredentials, Key } from './http/credentials.ts'
export {
  type Connection,
  type HttpChatModelOptions,
  httpChatModel,
  type Recover,
} from './http/httpChatModel.ts'
export type { ModelListing } from './http/httpJson.ts'
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
export { listModels, listProviders, type ProviderFactory, registerProvider } from './registry.ts'
export type { AttachedFile, FileKind, InlineFile, LinkedFile } from './wire/attachedFile.ts'
export {
  type AttachmentForm,
  type AttachmentForms,
  attachmentBlocks,
  type ResultContent,
  resultAndFollowUp,
  resultContent,
} from './wire/attachments.ts'
export { truncated } from './wire/decoder.ts'
export { streamError } from './wire/error.ts'
export { arrayAt, BadWireJson, numberAt, objectAt, parseWireObject, stringAt } from './wire/json.ts'
export type { Decoder, Protocol, Target, WireError, WireEvent, WireRequest } from './wire/protocol.ts'
export {
  type Conversation,
  conversationOf,
  type IdRule,
  opaqueOf,
  wireIdsOf,
  withProviderOptions,
} from './wire/request.ts'
export { type ServerToolForm, type ServerToolForms, serverToolsOf } from './wire/serverTools.ts'
export { ToolCallAssembler, type ToolCallPiece } from './wire/toolCallAssembler.ts'
