import type { JsonObject, JsonValue } from '../../src/messages/json.ts'
import type { Answer, Ending } from './hostileServer.ts'

/** A tool call as a server writes it: what is left out is left out on the wire. */
export type CallOnWire = {
  id?: string | null
  name?: string
  /** Text is sent as it is, in pieces where the protocol has pieces; anything else is the value itself. */
  args?: JsonValue
}

/** An answer of a model. `finish` is the provider's word; null leaves the end mark out. */
export type Turn = { text?: string; calls?: CallOnWire[]; finish?: string }

/** A call or a result in a request, as the provider would read it. An id that was not sent is ''. */
export type SentCall = { id: string; name: string; args: unknown }
export type SentResult = { id: string; text: string }

/** A protocol, seen from the server's side. */
export type Wire = {
  /** The model string of the agent under test. */
  model: string
  contentType: string
  /** A proper answer, event by event. The last event, or the last but one, is the protocol's end mark. */
  events(turn: Turn): string[]
  /** The provider's own words. */
  words: { stop: string; toolCalls: string; length: string; filter: string }
  /** The number of events at the end that carry no content: an answer that is cut only there is complete. */
  endMarks: number
  sentCalls(body: JsonObject): SentCall[]
  sentResults(body: JsonObject): SentResult[]
}

/** An answer on this wire. */
export const answer = (
  { contentType }: Wire,
  events: readonly string[],
  ending: Ending = 'clean',
  more: Partial<Answer> = {},
): Answer => ({ headers: { 'content-type': contentType }, body: [...events], ending, ...more })

/** The events as SSE, named or not. */
export const sse = (...events: (JsonObject | string)[]): string[] =>
  events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)

export const namedSse = (...events: JsonObject[]): string[] =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)

/** The two halves of a text: enough to need putting together. */
export const halves = (text: string): string[] => {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)].filter((half) => half !== '')
}

export const objects = (value: JsonValue | undefined): JsonObject[] =>
  (Array.isArray(value) ? value : []).filter(
    (item): item is JsonObject => typeof item === 'object' && item !== null && !Array.isArray(item),
  )

export const text = (value: JsonValue | undefined): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value)

export const parsed = (value: JsonValue | undefined): unknown =>
  typeof value === 'string' ? JSON.parse(value) : value

/** The fields that are there: on a wire, absent and undefined are the same. */
export const present = (fields: { [key: string]: JsonValue | undefined }): JsonObject =>
  Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined),
  )
