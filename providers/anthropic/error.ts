import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import { numberAt, objectAt, stringAt } from '../wire/json.ts'
import type { WireError } from '../wire/protocol.ts'

/**
 * Reads `{"type":"error","error":{"type","message"},"request_id"}` and what gateways make of it: no outer type, the
 * error as a plain text, only a `message`, or Google's list of one error.
 */
export const anthropicError = (body: unknown): WireError | undefined => {
  const outer = Array.isArray(body) ? body[0] : body
  if (!isJsonObject(outer)) return undefined
  const inner = objectAt(outer, 'error')
  const text = stringAt(outer, 'error')
  if (!inner && text === undefined && !isBareMessage(outer)) return undefined
  const code = codeOf(inner)
  const requestId = stringAt(outer, 'request_id') ?? stringAt(inner, 'request_id')
  return {
    message: stringAt(inner, 'message') ?? text ?? stringAt(outer, 'message') ?? code ?? described(inner),
    ...(code !== undefined && { code }),
    ...(requestId !== undefined && { requestId }),
  }
}

/** Events of a good stream have their own type, and their message is never a text. */
const isBareMessage = (body: JsonObject): boolean => {
  const type: JsonValue | undefined = stringAt(body, 'type')
  return type === 'error' || (type === undefined && stringAt(body, 'message') !== undefined)
}

const longestRaw = 500

/** An error with its text somewhere else is shown as it is. */
const described = (error: JsonObject | undefined): string =>
  error && Object.keys(error).length > 0
    ? JSON.stringify(error).slice(0, longestRaw)
    : 'The provider sent an error.'

const codeOf = (error: JsonObject | undefined): string | undefined =>
  stringAt(error, 'type') ?? stringAt(error, 'code') ?? numberAt(error, 'code')?.toString()
