import type { Dispatcher } from 'undici'
import type { JsonObject } from '../src/messages/json.ts'
import type { DataPart, LinkPart } from '../src/messages/messages.ts'
import type { Usage } from '../src/messages/result.ts'
import type { ChatModel, ModelProfile } from '../src/model/chatModel.ts'
import type { RetryPolicy } from '../src/model/retryPolicy.ts'
import type { Timeouts } from '../src/model/timeouts.ts'
import type { Limits } from '../src/transport/limits.ts'
import type { AnthropicProfile } from './anthropic/profile.ts'
import type { ConverseProfile } from './bedrock-converse/profile.ts'
import type { CohereProfile } from './cohere/profile.ts'
import type { GoogleProfile } from './google/profile.ts'
import type { HeadersLike } from './http/connection.ts'
import type { ApiKey } from './http/credentials.ts'
import type { MistralProfile } from './mistral/profile.ts'
import type { OllamaProfile } from './ollama/profile.ts'
import type { OpenAIChatProfile } from './openai-chat/profile.ts'
import type { OpenAIResponsesProfile } from './openai-responses/profile.ts'

/** The way to a provider: its address, its key, and how the requests travel. Every option has a default. */
export type ConnectionOptions = {
  /** A key, or a function that gives one. Default: the provider's environment variable, for its own hosts only. */
  apiKey?: ApiKey
  /** Another server that speaks the same protocol. Default: the provider's own. */
  baseUrl?: string
  /** Sent with every request; they win over the provider's own. Default: none. */
  headers?: HeadersLike
  /** Options of the transport: a proxy, your own `fetch`, and how much a server may send. Default: see each of them. */
  connection?: TransportOptions
  /** Abilities of the model, where its name does not say them: `{ like: 'gpt-6-luna' }`, or single fields. Default: what is known of the name. */
  profile?: ProfileOverride
}

/** Options of the transport: the `connection` of an agent or a provider. None is required. */
export type TransportOptions = {
  /** A dispatcher of undici, such as a `ProxyAgent`. Default: one that follows `HTTP_PROXY` and its like. */
  dispatcher?: Dispatcher
  /** Sends the requests in place of undici. Default: undici, or the runtime's own where there is none. */
  fetch?: typeof fetch
  /** The most characters and bytes that a server may send. Default: see {@link Limits}. */
  limits?: Partial<Limits>
}

/** Options of a request outside a run: for embeddings and lists of models. An agent gives its own. */
export type RequestOptions = {
  /** Ends the request when it is aborted. */
  signal?: AbortSignal | undefined
  /** The retries of a failed request. */
  retry?: Partial<RetryPolicy>
  /** The longest waits for the answer. */
  timeouts?: Timeouts
}

/** An ability of a provider. */
export type Capability =
  | 'chat'
  | 'tools'
  | 'parallelTools'
  | 'nativeSchema'
  | 'thinking'
  | 'images'
  | 'pdf'
  | 'audio'
  | 'embeddings'
  | 'listModels'

/** The facts about a provider; capabilities are those of its default models. */
export type ProviderInfo = {
  name: string
  aliases: readonly string[]
  /** The environment variable of the key; undefined where none is needed. */
  keyVariable: string | undefined
  /** The default address of its server. The parts in braces must be set: `https://{resource}.…`. */
  baseUrl: string
  /** The environment variables that name its server. */
  serverVariables: readonly string[]
  /** Empty where a model must be named. */
  defaultModel: string
  /** Empty where a model must be named; undefined where it makes no embeddings. */
  defaultEmbeddingsModel: string | undefined
  capabilities: readonly Capability[]
}

/** Options of a request for embeddings. */
export type EmbedOptions = {
  /** The length of the vectors, where the model offers a choice. */
  dimensions?: number
  /** Ends the request when it is aborted. */
  signal?: AbortSignal
  /** Merged into the request untouched. */
  providerOptions?: JsonObject
}

/** Makes vectors of texts, in as many requests as the provider's limits need. */
export type EmbeddingsModel = {
  readonly provider: string
  readonly model: string
  /** The vectors of the texts, in their order. */
  embed(
    texts: readonly string[],
    purpose: 'query' | 'document',
    options?: EmbedOptions,
  ): Promise<{ vectors: number[][]; usage?: Usage }>
}

/** Options of a request for media. */
export type MediaOptions = {
  /** The types that you want, the best first. Default: `image/png`. */
  mimeTypes?: readonly string[]
  /** Images to change, with their bytes: `dataPart('image/png', bytes)`. Default: none. */
  attachments?: readonly (DataPart | LinkPart)[]
  /** The drafts of an image that a stream yields before it, where the provider makes some. Each may cost tokens. Default: 2. */
  partialImages?: number
  /** Ends the request when it is aborted. */
  signal?: AbortSignal
  /** Merged into the request untouched. */
  providerOptions?: JsonObject
}

/** An image as a stream yields it. `isPartial`: a draft, which a better one follows. */
export type MediaPiece = (DataPart | LinkPart) & { isPartial?: true }

/** Makes images of words, or of other images. */
export type MediaModel = {
  readonly provider: string
  readonly model: string
  generate(prompt: string, options?: MediaOptions): Promise<{ media: (DataPart | LinkPart)[]; usage?: Usage }>
  /** Yields images and their drafts as they come; missing where the provider sends its answer in one piece. */
  stream?(prompt: string, options?: MediaOptions): AsyncIterable<MediaPiece>
}

/** A model that a provider offers; `details` is what the provider says about it. */
export type ModelInfo = { id: string; details: JsonObject }

/** A provider: information, and makers of its models. A key is looked for only when a request is made. */
export type Provider = ProviderInfo & {
  /** Makes a chat model; without a name, the default one. */
  chatModel(model: string | undefined, options: ConnectionOptions): ChatModel
  /** Makes a model for embeddings; missing where the provider has none. */
  embeddingsModel?(model: string | undefined, options: ConnectionOptions & RequestOptions): EmbeddingsModel
  /** Makes a model for images; missing where the provider has none. */
  mediaModel?(model: string | undefined, options: ConnectionOptions & RequestOptions): MediaModel
  /** Uploads a file, for messages that name it; missing where the provider keeps none. */
  uploadFile?(file: DataPart, options: ConnectionOptions & RequestOptions): Promise<LinkPart>
  /** Asks the provider for its models. */
  listModels?(options: ConnectionOptions & RequestOptions): Promise<ModelInfo[]>
}

type AnyProfile =
  | OpenAIChatProfile
  | OpenAIResponsesProfile
  | AnthropicProfile
  | GoogleProfile
  | MistralProfile
  | CohereProfile
  | ConverseProfile
  | OllamaProfile

/** The fields of a profile, all optional, those of `attachments` too. */
type Fields<P> = P extends ModelProfile
  ? Partial<Omit<P, 'attachments'>> & { attachments?: Partial<ModelProfile['attachments']> }
  : never

/** Facts that the user knows better about a model than its name shows. */
export type ProfileOverride = {
  /** The model it behaves like, for names that do not show it: a deployment, a fine-tuned model, an alias. */
  like?: string
} & Fields<AnyProfile>
