import type { ErrorData } from '../../src/messages/errors.ts'
import { isJsonObject, type JsonObject, ownValue } from '../../src/messages/json.ts'
import { streamError } from '../wire/error.ts'
import { arrayAt, numberAt, objectAt, stringAt } from '../wire/json.ts'
import type { WireError } from '../wire/protocol.ts'

/** Reads `{ error: { code, message, status, details } }`, alone or as the first item of a list. */
export const googleError = (body: unknown): WireError | undefined => {
  const holder: unknown = Array.isArray(body) ? body[0] : body
  if (!isJsonObject(holder)) return undefined
  const error = ownValue(holder, 'error')
  if (typeof error === 'string' && error !== '') return { message: error }
  if (!isJsonObject(error)) return undefined
  const number = numberAt(error, 'code')
  const code = stringAt(error, 'status') || stringAt(error, 'code') || number?.toString()
  const retryAfterMs = milliseconds(stringAt(detail(error, 'RetryInfo'), 'retryDelay'))
  const requestId = stringAt(detail(error, 'RequestInfo'), 'requestId')
  return {
    message:
      stringAt(error, 'message') ||
      `The provider reported an error without a message (${code ?? 'no code'}).`,
    ...(code && { code }),
    ...(requestId && { requestId }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  }
}

/** The error of an event inside a stream: its numeric code is the HTTP status it would have had. */
export const googleStreamError = (event: JsonObject): ErrorData | undefined => {
  const problem = googleError(event)
  if (!problem) return undefined
  const code = numberAt(objectAt(event, 'error'), 'code')
  return streamError(problem, { status: code !== undefined && code >= 400 && code < 600 ? code : undefined })
}

const detail = (error: JsonObject, type: string): JsonObject | undefined =>
  arrayAt(error, 'details')
    ?.filter(isJsonObject)
    .find((item) => stringAt(item, '@type')?.endsWith(`google.rpc.${type}`))

/** A protobuf duration: `37s`, `0.250s`. */
const milliseconds = (duration: string | undefined): number | undefined => {
  const seconds = /^(\d+(?:\.\d+)?)s$/.exec(duration ?? '')?.[1]
  return seconds === undefined ? undefined : Math.ceil(Number(seconds) * 1000)
}
