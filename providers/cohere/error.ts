import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import { numberAt, objectAt, stringAt } from '../wire/json.ts'
import type { WireError } from '../wire/protocol.ts'

/** `{ id, message }` from the API itself; older endpoints say `data`, gateways say `error` or `detail`. */
export const cohereError = (body: unknown): WireError | undefined => {
  if (!isJsonObject(body)) return undefined
  const nested = objectAt(body, 'error')
  const message =
    stringAt(body, 'message') ??
    stringAt(nested, 'message') ??
    stringAt(body, 'error') ??
    stringAt(body, 'detail') ??
    stringAt(body, 'data')
  if (!message) return nested && { message: JSON.stringify(nested) }
  const code = codeOf(nested) ?? codeOf(body)
  const requestId = stringAt(body, 'id') || undefined
  return { message, ...(code !== undefined && { code }), ...(requestId !== undefined && { requestId }) }
}

const codeOf = (body: JsonObject | undefined): string | undefined => {
  const status = numberAt(body, 'status_code') ?? numberAt(body, 'code') ?? numberAt(body, 'status')
  // `type` is an error's word in a nested object, and only the event's name outside of it.
  return status !== undefined ? String(status) : (stringAt(body, 'code') ?? errorType(body))
}

const errorType = (body: JsonObject | undefined): string | undefined => {
  const type = stringAt(body, 'type')
  return type === 'error' ? undefined : type
}
