import type { ErrorData } from '../messages/errors.ts'
import type { JsonObject } from '../messages/json.ts'
import type { DataPart, LinkPart } from '../messages/messages.ts'
import type { FinishReason, Usage, Warning } from '../messages/result.ts'

/** A finished tool call as the wire gave it. The id may still be empty, repeated or reused. */
export type WireToolCall = {
  id: string
  name: string
  arguments: JsonObject
  argumentsRaw?: string
  argumentsError?: string
}

/**
 * A part of what a request begins with that went out otherwise than the engine gave it: without it the engine would
 * report no change where the bytes change.
 */
export type PrefixDifference = {
  part: 'system' | 'tools' | 'history'
  /** The change, to compare with that of the next request. */
  by: string
  /** The change is in a place that no request before had: only its end is a change of the prefix. */
  isNew?: boolean
}

/**
 * A piece of an answer, as a decoder reads it from a wire event: the only language that adapters speak to the engine.
 *
 * Order is the wire's order. `finish` is always the last delta of a proper stream and is emitted only when nothing
 * more can come; a stream that ends without it is truncated. `error` is the last delta of an improper one.
 */
export type Delta =
  | { type: 'text'; text: string }
  | { type: 'thinking'; text: string }
  /** Generated media, e.g. an image. */
  | { type: 'part'; part: DataPart | LinkPart }
  /** A piece of a tool call that is still being written; `index` counts the calls of this message. */
  | { type: 'toolDelta'; index: number; id?: string; name?: string; arguments: string }
  /** The model is at work on something that is shown later or never: it only keeps the timeouts of the answer from running out. */
  | { type: 'progress' }
  /** A whole tool call; emitted only once the stream says that nothing more will be added to it. */
  | { type: 'toolCall'; call: WireToolCall }
  /** Shown to the consumer once, merged into the result: citations, server-side tool events, refusals … */
  | { type: 'metadata'; metadata: JsonObject }
  /** Kept on the model message under the protocol's name and never shown: signatures, encrypted reasoning, ids. */
  | { type: 'opaque'; protocol: string; data: JsonObject }
  | { type: 'response'; id: string }
  /** A setting of the request that the model did not get as it was given. */
  | { type: 'warning'; warning: Warning }
  /** The parts of the beginning of the request that went out otherwise than the engine gave them. */
  | { type: 'prefix'; differences: PrefixDifference[] }
  /** Counts so far of this response; a later value of a field replaces the earlier one. */
  | { type: 'usage'; usage: Usage }
  /** `pause`: the provider wants the same turn sent back so that it can go on (`pause_turn`). */
  | { type: 'finish'; reason: FinishReason; raw?: string; pause?: boolean }
  /** `raw`: the provider's finish word, if one had come before the error. */
  | { type: 'error'; error: ErrorData; raw?: string }
