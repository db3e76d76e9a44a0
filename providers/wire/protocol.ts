import type { JsonObject } from '../../src/messages/json.ts'
import type { ModelProfile, ModelRequest } from '../../src/model/chatModel.ts'
import type { Delta, PrefixDifference } from '../../src/model/delta.ts'

/** An event of the wire: an SSE event, or a line of NDJSON (`event` is then undefined). */
export type WireEvent = { event?: string | undefined; data: string }

/** Turns wire events into deltas. Pure but for its own state; one per response. */
export type Decoder = {
  /** Takes the next event and gives the deltas that it completes, none for an event that means nothing. */
  push(event: WireEvent): readonly Delta[]
  /** Ends a network read: gives what could wait until now, such as counts that every event repeats. */
  readDone?(): readonly Delta[]
  /**
   * Takes the end of the body. Gives what was held back and `finish`, or an `error` delta when the stream was cut. If the connection
   * `isBroken`, only an end that nothing can follow counts as one.
   */
  end(isBroken?: boolean): readonly Delta[]
}

/** The HTTP request for a model request; the base URL, the key and the user's headers are added by the transport. */
export type WireRequest = {
  path: string
  body: JsonObject
  headers?: Record<string, string>
  /** The hash of what precedes the answer, for protocols whose answers are bound to it. It is kept with the answer. */
  prefix?: string
  /** The parts of the conversation's beginning that this wire cannot send as they are. */
  differences?: PrefixDifference[]
}

/** The content of a provider's error body, in any shape. */
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

/** The model that a request goes to, its provider, and its abilities. */
export type Target<P extends ModelProfile = ModelProfile> = { provider: string; model: string; profile: P }

/** The fields that a protocol adds to the profiles of its models. */
export type ProfileFields<P extends ModelProfile> = Readonly<
  Record<Exclude<keyof P, keyof ModelProfile>, true>
>

/** A wire protocol: a mapper, a decoder and a reader of error bodies, all pure. */
export type Protocol<P extends ModelProfile = ModelProfile> = {
  /** The name, and the key under which opaque data of this protocol is kept in a message's metadata. */
  readonly name: string
  /** The settings are in fields that are known by name: those that a body does not have are reported as warnings. */
  readonly knownFields?: true
  /** The fields that it adds to a profile: a `profile` of a user with any other name is refused. Default: any name is taken. */
  readonly profileFields?: Readonly<Record<string, true>>
  /** Writes a request in the words of this wire. */
  request(request: ModelRequest, target: Target<P>): WireRequest
  /** A new decoder, for one response. */
  decoder(target: Target<P>): Decoder
  /** Reads the parsed JSON of an HTTP error, or of an error event inside a stream; undefined if it is not an error. */
  error(body: unknown): WireError | undefined
}
