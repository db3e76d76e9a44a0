import type { ErrorData } from '../messages/errors.ts'
import type { JsonObject } from '../messages/json.ts'
import type { ChatMessage } from '../messages/messages.ts'
import type { Delta } from './delta.ts'

/** What the model is told about a tool. */
export type ToolSpec = { name: string; description: string; inputSchema: JsonObject }

/** Whether the model may, must or must not call a tool, or which one it must. */
export type ToolChoice = 'auto' | 'none' | 'required' | { tool: string }

/** `true` and `false` switch thinking; an object sets how much of it. */
export type Thinking = boolean | { budgetTokens?: number; effort?: 'minimal' | 'low' | 'medium' | 'high' }

/** The sampling and behaviour settings every provider gets, each in its own words. */
export type GenerationSettings = {
  temperature?: number
  maxOutputTokens?: number
  topP?: number
  stopSequences?: string[]
  seed?: number
  toolChoice?: ToolChoice
  /** `false` asks for at most one tool call per turn, where the provider can do that. */
  parallelToolCalls?: boolean
  thinking?: Thinking
  /** Merged into the request body untouched, last: the way to anything this list does not name. */
  providerOptions?: JsonObject
}

/** One request to a model, in the engine's words. Plain JSON. */
export type ModelRequest = GenerationSettings & {
  /** The conversation, system messages included. */
  messages: ChatMessage[]
  tools?: ToolSpec[]
  /** A JSON Schema the whole answer must follow; only where the profile has `nativeSchema`. */
  outputSchema?: JsonObject
}

/** What a model can do. Routes behaviour, or gives a clear error. */
export type ModelProfile = {
  tools: boolean
  parallelTools: boolean
  /** The API can be told a JSON Schema for the answer. */
  nativeSchema: boolean
  /** Native schema and tools may be used in the same request. */
  schemaWithTools: boolean
  thinking: boolean
  attachments: { images: boolean; pdf: boolean; audio: boolean; links: boolean }
}

/** Where a model reports to. Calls after `end` or `fail` are ignored. */
export type ModelSink = {
  /** The deltas decoded from one network read; empty when the read held only keep-alives, which no timeout waits for. */
  deltas(batch: readonly Delta[]): void
  /** The stream is over. Without a `finish` delta before it, it counts as truncated. */
  end(): void
  /** The request failed; nothing comes any more. */
  fail(error: ErrorData): void
}

/** A model of some provider: starts one streaming request, and returns the function that closes it at once. */
export type ChatModel = {
  readonly provider: string
  readonly model: string
  readonly profile: ModelProfile
  /** Starts a request. The function returned closes it at once. */
  stream(request: ModelRequest, sink: ModelSink): () => void
  /** Hides the credentials of this model in a text that is about to be shown or stored. */
  redact?(text: string): string
}
