import type { ModelProfile, ModelRequest } from '../src/chatModel.ts'
import type { Delta } from '../src/delta.ts'
import type { JsonObject } from '../src/json.ts'

/** One event of the wire: an SSE event, or one line of NDJSON (`event` is then undefined). */
export type WireEvent = { event?: string | undefined; data: string }

/** Turns wire events into deltas. Pure but for its own state; one per response. */
export type Decoder = {
  push(event: WireEvent): readonly Delta[]
  /** The body ended. Gives what was held back and `finish`, or an `error` delta when the stream was cut. */
  end(): readonly Delta[]
}

/** The HTTP request for a model request; the base URL and the key are added by the transport. */
export type WireRequest = { path: string; body: JsonObject; headers?: Record<string, string> }

/** What a provider's error body says, in whatever shape it says it. */
export type WireError = { message: string; code?: string; requestId?: string; retryAfterMs?: number }

/** A wire protocol: a mapper, a decoder and a reader of error bodies, all pure. */
export type Protocol<P extends ModelProfile = ModelProfile> = {
  readonly name: string
  request(request: ModelRequest, model: string, profile: P): WireRequest
  decoder(profile: P): Decoder
  /** Reads the parsed JSON of an HTTP error, or of an error event inside a stream; undefined if it is none. */
  error(body: unknown): WireError | undefined
}
