import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import { arrayAt, numberAt, objectAt, stringAt } from '../wire/json.ts'
import type { WireError } from '../wire/protocol.ts'

/**
 * Reads an error body or an error event:
 * `{ error: { message, type, code } }`, the same in an array, `{ type: 'error', code, message }`,
 * `{ error: 'text', code }` (xAI), `{ detail }` (FastAPI servers, the ChatGPT backend), `{ message }` (gateways).
 */
export const responsesError = (body: unknown): WireError | undefined => {
  if (Array.isArray(body)) return responsesError(body[0])
  if (!isJsonObject(body)) return undefined
  const error = objectAt(body, 'error')
  if (error && Object.keys(error).length > 0) return describe(error, body)
  const text = stringAt(body, 'error') ?? plainMessage(body)
  return text === undefined ? undefined : describe({ ...body, message: text }, body)
}

/** Ordinary events and responses differ from errors by their `type` and `object`. */
const plainMessage = (body: JsonObject): string | undefined => {
  const type = stringAt(body, 'type')
  if (type?.startsWith('response.') || stringAt(body, 'object') === 'response') return undefined
  const text =
    stringAt(body, 'message') ?? stringAt(body, 'detail') ?? detailText(arrayAt(body, 'detail')?.[0])
  return text ?? (type === 'error' ? 'The provider reported an error without a message.' : undefined)
}

const detailText = (detail: JsonValue | undefined): string | undefined =>
  isJsonObject(detail) ? stringAt(detail, 'msg') : undefined

const describe = (error: JsonObject, body: JsonObject): WireError => {
  const message = stringAt(error, 'message') ?? JSON.stringify(error)
  const code = codeOf(error)
  const requestId = stringAt(error, 'request_id') ?? stringAt(body, 'request_id')
  const retryAfterMs = waitIn(message)
  return {
    message,
    ...(code !== undefined && { code }),
    ...(requestId !== undefined && { requestId }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  }
}

const codeOf = (error: JsonObject): string | undefined => {
  const code = stringAt(error, 'code') || numberAt(error, 'code')?.toString()
  const type = stringAt(error, 'type')
  return code ?? (type === 'error' ? undefined : type)
}

/** The wait that an error inside a stream names, since it has no `retry-after` header: OpenAI says "Please try again in 1m2.5s" or "… in 320ms". */
const waitIn = (message: string): number | undefined => {
  const wait = /try again in (?:(\d{1,3})m(?!s))?(?:(\d{1,5}(?:\.\d{1,3})?)(ms|s)\b)?/i.exec(message)
  if (!wait || (wait[1] === undefined && wait[2] === undefined)) return undefined
  const rest = Number(wait[2] ?? 0) * (wait[3]?.toLowerCase() === 'ms' ? 1 : 1000)
  return Math.ceil(Number(wait[1] ?? 0) * 60_000 + rest)
}
