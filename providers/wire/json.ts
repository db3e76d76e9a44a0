import type { ErrorData } from '../../src/messages/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import { isTooDeep, tooDeep } from '../../src/messages/jsonDepth.ts'

/** The object in an event's data; undefined for events that carry none (keep-alives, comments in data clothing). */
export const parseWireObject = (data: string): JsonObject | undefined | BadWireJson => {
  const first = data.trimStart()[0]
  // Some gateways re-emit SSE comments as data: a line that starts with a colon can never be JSON.
  if (first === undefined || first === ':') return undefined
  if (isTooDeep(data)) return new BadWireJson(data, tooDeep)
  try {
    const value: JsonValue = JSON.parse(data)
    return isJsonObject(value) ? value : undefined
  } catch {
    return new BadWireJson(data)
  }
}

/** An event whose data is not JSON: the stream cannot be trusted any further. */
export class BadWireJson {
  readonly error: ErrorData
  constructor(data: string, problem = 'is not valid JSON') {
    this.error = {
      name: 'ModelError',
      // Whole: it is cut after keys were hidden in it, since half a key would not be recognised.
      message: `The provider sent an event that ${problem}: ${data}`,
      code: 'invalid_json',
      retryable: true,
    }
  }
}

// The readers take field names of the protocols, never names from the wire: no object inherits one of those, so there
// is no need to ask each time whether the field is the object's own.

/** The text in a field; undefined if it is anything else. */
export const stringAt = (object: JsonObject | undefined, key: string): string | undefined => {
  const value = object?.[key]
  return typeof value === 'string' ? value : undefined
}

/** The number in a field; undefined if it is anything else. */
export const numberAt = (object: JsonObject | undefined, key: string): number | undefined => {
  const value = object?.[key]
  return typeof value === 'number' ? value : undefined
}

/** The object in a field; undefined if it is anything else. */
export const objectAt = (object: JsonObject | undefined, key: string): JsonObject | undefined => {
  const value = object?.[key]
  return isJsonObject(value) ? value : undefined
}

/** The list in a field; undefined if it is anything else. */
export const arrayAt = (object: JsonObject | undefined, key: string): JsonValue[] | undefined => {
  const value = object?.[key]
  return Array.isArray(value) ? value : undefined
}

/**
 * True for an object that has no other fields than these, but for empty ones. Going through the fields that are there is
 * much cheaper than asking for the many that some server might send.
 */
export const hasOnly = (object: JsonObject, known: ReadonlySet<string>): boolean => {
  for (const key in object) if (!known.has(key) && object[key] !== null) return false
  return true
}
