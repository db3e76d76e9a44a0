import type { ErrorData } from '../messages/errors.ts'
import type { JsonObject } from '../messages/json.ts'
import type { ChatMessage } from '../messages/messages.ts'
import type { Delta } from './delta.ts'
import type { ModelPrices } from './prices.ts'
import type { ServerTool } from './serverTools.ts'

/** A tool as the model sees it. */
export type ToolSpec = {
  name: string
  description: string
  inputSchema: JsonObject
  /** The API keeps it from the model until a search finds it; only where the profile has `deferredTools`. */
  deferred?: true
  /** The entries of `tools` that are sent instead of a function, by the protocol that has such a tool. */
  wire?: ToolWire
}

/** The definitions of a tool that providers have trained their models for, by the name of the protocol. */
export type ToolWire = Readonly<Partial<Record<'anthropic' | 'openai-responses', JsonObject>>>

/** The choice whether the model may, must or must not call a tool, or which one it must. */
export type ToolChoice = 'auto' | 'none' | 'required' | { tool: string }

/** The effort of a model that thinks. A model that does not have the word gets the nearest one that it has. */
export type Effort = 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'

/**
 * `true` and `false` switch thinking on and off; an object sets how much of it. A model that cannot stop thinking is
 * asked to think as little as it can.
 */
export type Thinking = boolean | { budgetTokens?: number; effort?: Effort }

/**
 * The use of the provider's prompt cache. `'auto'`: each request is marked or keyed so that the next one finds it
 * again, where the provider needs that. `'off'`: nothing is marked. `ttl` is how long Anthropic keeps what it cached,
 * `'5m'` by default; `key` names a conversation to the providers that keep requests of one key together (OpenAI,
 * Mistral), and is made of the system prompt and the tools by default.
 */
export type PromptCache = 'auto' | 'off' | { ttl?: '5m' | '1h'; key?: string }

/** Sampling and behaviour settings, translated for each provider. */
export type GenerationSettings = {
  /** Varies the answers: 0 is the least. Default: the provider's. */
  temperature?: number
  /** The longest answer, in tokens. Default: the provider's. */
  maxOutputTokens?: number
  /** Takes only the likeliest tokens, up to this share of the probability. Default: the provider's. */
  topP?: number
  /** Texts at which the answer stops. Default: none. */
  stopSequences?: string[]
  /** Makes answers repeatable, where the provider can do that. Default: none. */
  seed?: number
  /** Lets, makes or forbids the model to call tools. Default: it may (`'auto'`). */
  toolChoice?: ToolChoice
  /** `false` asks for at most one tool call per turn, where the provider can do that. Default: the provider's. */
  parallelToolCalls?: boolean
  /** Makes the model think before it answers, and how hard. Default: the provider's. */
  thinking?: Thinking
  /** Tools that the provider runs itself, such as `webSearch()`, beside the agent's own. Default: none. */
  serverTools?: ServerTool[]
  /** Uses the provider's prompt cache, or not. Default: `'auto'`. */
  cache?: PromptCache
  /**
   * Merged into the request body last: for everything that has no option here. Objects are merged at every depth, tools
   * are added to the agent's own, everything else is replaced.
   */
  providerOptions?: JsonObject
}

/** A request to a model, in the engine's terms. Plain JSON. */
export type ModelRequest = GenerationSettings & {
  /** The conversation, system messages included. */
  messages: ChatMessage[]
  tools?: ToolSpec[]
  /** A JSON Schema the whole answer must follow; only where the profile has `nativeSchema`. */
  outputSchema?: JsonObject
}

/** The abilities of a model. They route behaviour, or give a clear error. */
export type ModelProfile = {
  tools: boolean
  parallelTools: boolean
  /** The API accepts a JSON Schema for the answer. */
  nativeSchema: boolean
  /** Native schema and tools may be used in the same request. */
  schemaWithTools: boolean
  thinking: boolean
  /** The media it reads beside text. `links`: the provider fetches them itself. */
  attachments: { images: boolean; pdf: boolean; audio: boolean; video?: boolean; links: boolean }
  /** The API takes changes of the system prompt and of the tools in the middle of a conversation. Default: false. */
  appendsChanges?: boolean
  /** The API takes tools that are loaded when the model asks for them. Default: false. */
  deferredTools?: boolean
  /** The context window in tokens, where it is known. */
  window?: number
  /** The longest answer in tokens, where it is known. */
  maxOutput?: number
  /** The announced end of the endpoint, and what to use instead: each run warns of it. Default: none. */
  deprecated?: string
  /** The list prices of its provider, where they are known: `usage.cost` without a `price` function. */
  prices?: ModelPrices
}

/** An HTTP request as it goes out, without its credentials: `***` is in their place. */
export type SentRequest = {
  method: string
  url: string
  headers: Readonly<Record<string, string>>
  /** The body as it is sent: show it through `hide`. */
  body: string
  /** Takes the credentials of this request out of its body and out of the events of its answer. */
  hide(text: string): string
  /** The credentials, for a page that shows more of the run than its wire. A function, so that no log gets them by accident. */
  secrets(): readonly string[]
}

/**
 * Sees what a model behind HTTP sends and receives. One call of a model may need several requests: each begins with
 * `request`, and what follows belongs to it. Events are handed over as they come, because they come often.
 *
 * @example
 * const wire: WireListener = {
 *   request: ({ method, url }) => console.log(method, url),
 *   head: ({ status }) => console.log(status),
 *   event: ({ data }) => console.log(data.length),
 * }
 */
export type WireListener = {
  request(sent: SentRequest): void
  /** The answer begins. Only headers that say something about the request, its limits and its retries. */
  head(head: { status: number; headers: Readonly<Record<string, string>> }): void
  /** An event of the answer, or the whole body of a refusal. It still holds credentials: show it through `hide` of its request. */
  event(event: { event?: string | undefined; data: string }): void
}

/** The receiver of what a model reports. Calls after `end` or `fail` are ignored. */
export type ModelSink = {
  /** The deltas decoded from one network read; empty when the read held only keep-alives, which no timeout waits for. */
  deltas(batch: readonly Delta[]): void
  /** The stream is over. Without a `finish` delta before it, it counts as truncated. */
  end(): void
  /** The request failed; nothing more arrives. */
  fail(error: ErrorData): void
  /** The listener to the wire, if the model has one. */
  wire?: WireListener
}

/** A model of some provider: starts one streaming request, and returns the function that closes it at once. */
export type ChatModel = {
  readonly provider: string
  readonly model: string
  /** The wire protocol it is reached through, such as `openai-responses`; a model without a wire has none. */
  readonly protocol?: string
  readonly profile: ModelProfile
  /** Starts a request. The function returned closes it at once. */
  stream(request: ModelRequest, sink: ModelSink): () => void
  /** Hides the credentials of this model in a text that is about to be shown or stored. */
  redact?(text: string): string
}
