import { isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'
import type { SimulatorReply, SimulatorRequest } from './request.ts'

export type Ids = { id: string; callId: (index: number) => string }

export type TokenCounts = { input: number; output: number }

/** A wire format: how its requests are read, and how an answer is written. */
export type Wire = {
  path: string
  /** Throws a `RefusedRequest` where the API would refuse. */
  read: (body: JsonObject) => SimulatorRequest
  /** The answer as a stream: one text for each write. */
  events: (reply: SimulatorReply, ids: Ids, usage: TokenCounts, request: SimulatorRequest) => string[]
  /** The answer in one piece, for requests that want no stream. */
  whole: (reply: SimulatorReply, ids: Ids, usage: TokenCounts, request: SimulatorRequest) => object
  error: (message: string, status: number) => object
}

/** A text word by word; joined it is the text. */
export const piecesOf = (text: string): string[] => (text === '' ? [] : text.split(/(?<=\s)(?=\S)/))

export const textIn = (object: JsonObject, key: string): string => {
  const value = object[key]
  return typeof value === 'string' ? value : ''
}

export const listOf = (value: JsonValue | undefined): JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : []

/** Content is a text or a list of parts, of which the texts count. */
export const textOfValue = (content: JsonValue | undefined): string =>
  typeof content === 'string'
    ? content
    : listOf(content)
        .map((part) => textIn(part, 'text'))
        .filter((text) => text !== '')
        .join('\n')

export const argumentsIn = (value: JsonValue | undefined): JsonObject => {
  if (isJsonObject(value)) return value
  try {
    const parsed: JsonValue = JSON.parse(String(value))
    return isJsonObject(parsed) ? parsed : {}
  } catch {
    return {}
  }
}
