import type { JsonObject } from '../../src/messages/json.ts'
import type { ModelProfile, ModelRequest } from '../../src/model/chatModel.ts'
import type { Delta } from '../../src/model/delta.ts'

/** One event of the wire: an SSE event, or one line of NDJSON (`event` is then undefined). */
export type WireEvent = { event?: string | undefined; data: string }

/** Turns wire events into deltas. Pure but for its own state; one per response. */
export type Decoder = {
  /** The next event: gives the deltas it completes, none for one that means nothing. */
  push(event: WireEvent): readonly Delta[]
  /** All events of one network read were given: what could wait until now, such as counts that every event repeats. */
  readDone?(): readonly Delta[]
  /**
   * The body ended. Gives what was held back and `finish`, or an `error` delta when the stream was cut. If the connection
   * `isBroken`, only an end that nothing can follow counts as one.
   */
  end(isBroken?: boolean): readonly Delta[]
}

/** The HTTP request for a model request; the base URL, the key and the user's headers are added by the transport. */
export type WireRequest = { path: string; body: JsonObject; headers?: Record<string, string> }

/** What a provider's error body says, in any shape. */
export type WireError = {
  message: string
  code?: string
  /** The kind of error, where the code is only a number. */
  type?: string
  requestId?: string
  retryAfterMs?: number
  /** Tokens that fit and tokens that were sent, if they come as fields. */
  window?: number
  requested?: number
}

/** Which model of which provider a request goes to, and what it can do. */
export type Target<P extends ModelProfile = ModelProfile> = { provider: string; model: string; profile: P }

/** A wire protocol: a mapper, a decoder and a reader of error bodies, all pure. */
export type Protocol<P extends ModelProfile = ModelProfile> = {
  /** Also the key under which opaque data of this protocol is kept in a message's metadata. */
  readonly name: string
  /** Writes a request in the words of this wire. */
  request(request: ModelRequest, target: Target<P>): WireRequest
  /** A new decoder, for one response. */
  decoder(target: Target<P>): Decoder
  /** Reads the parsed JSON of an HTTP error, or of an error event inside a stream; undefined if it is none. */
  error(body: unknown): WireError | undefined
}
