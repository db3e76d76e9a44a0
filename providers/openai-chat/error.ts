import type { ErrorData } from '../../src/messages/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../../src/messages/json.ts'
import { isPassing, isRetryableStatus, statusIn, streamError } from '../wire/error.ts'
import { arrayAt, numberAt, objectAt, stringAt } from '../wire/json.ts'
import type { WireError } from '../wire/protocol.ts'

/** The error a chunk carries: as its whole, beside its choices, inside one of them, or in Groq's corner. */
export const chunkError = (chunk: JsonObject, event: string | undefined): ErrorData | undefined => {
  if (event === 'error' || stringAt(chunk, 'object') === 'error') return chatStreamError(chunk)
  if (isNamed(chunk) && chatError(chunk)) return chatStreamError(chunk)
  for (const choice of arrayAt(chunk, 'choices') ?? []) {
    const error = isJsonObject(choice) ? objectAt(choice, 'error') : undefined
    if (error) return chatStreamError({ error })
  }
  const stopped = stringAt(objectAt(chunk, 'x_groq'), 'error')
  return stopped ? chatStreamError({ error: stopped }) : undefined
}

/** The error of `{ detail }` or `{ message }` alone: it counts if nothing else comes, since it may only be a notice. */
export const possibleError = (chunk: JsonObject): ErrorData | undefined =>
  chatError(chunk) && chatStreamError(chunk)

const isNamed = (chunk: JsonObject): boolean =>
  (ownValue(chunk, 'error') ?? ownValue(chunk, 'errors') ?? null) !== null

/** Reads an error in any of the shapes OpenAI-compatible servers use; undefined if the body is not an error. */
export const chatError = (body: unknown): WireError | undefined => {
  const found = errorObject(body)
  if (!found) return undefined
  const { error, around } = found
  const code = codeOf(error) ?? codeOf(around)
  const type = stringAt(error, 'type')
  // llama.cpp gives both beside the text.
  const window = numberAt(error, 'n_ctx')
  const requested = numberAt(error, 'n_prompt_tokens')
  const requestId = stringAt(around, 'request_id') ?? stringAt(error, 'request_id') ?? requestIdOf(around)
  return {
    message: messageOf(error),
    ...(code !== undefined && { code }),
    // A number says less than the word beside it.
    ...(type && /^\d+$/.test(code ?? '') && { type }),
    ...(window !== undefined && { window }),
    ...(requested !== undefined && { requested }),
    ...(requestId !== undefined && { requestId }),
  }
}

/** The error of an event inside a stream; the servers say more about it than its code. */
export const chatStreamError = (body: JsonObject): ErrorData => {
  const error = chatError(body) ?? { message: JSON.stringify(body).slice(0, longestRaw) }
  const found = errorObject(body)?.error
  const status = statusIn(error.code) ?? numberAt(found, 'status_code') ?? numberAt(found, 'status')
  const mayPass =
    isPassing({ ...error, type: stringAt(found, 'type') ?? '' }) ||
    (status !== undefined && isRetryableStatus(status))
  return streamError(error, { status, mayPass })
}

const longestRaw = 500
const longestGeneration = 2000

type Found = { error: JsonObject; around: JsonObject }

const errorObject = (body: unknown): Found | undefined => {
  if (Array.isArray(body)) return errorObject(body.find(isJsonObject))
  if (!isJsonObject(body)) return undefined
  const inner = ownValue(body, 'error') ?? arrayAt(body, 'errors')?.[0]
  if (typeof inner === 'string' && inner !== '') {
    // llama-stack and Ollama say `error: 'text'`; some proxies put a longer text beside the word.
    const message = stringAt(body, 'message') ?? inner
    return { error: { message, ...(message !== inner && { code: inner }) }, around: body }
  }
  if (isJsonObject(inner) && Object.keys(inner).length > 0) return { error: inner, around: body }
  const failed = failureAtMiniMax(body)
  if (failed) return { error: failed, around: body }
  if (Object.hasOwn(body, 'choices')) return undefined
  const hasText = ['message', 'detail', 'msg', 'title'].some((key) => isText(ownValue(body, key)))
  return hasText ? { error: body, around: body } : undefined
}

/** MiniMax answers a request that it refuses with 200, and says so beside everything else. */
const failureAtMiniMax = (body: JsonObject): JsonObject | undefined => {
  const status = objectAt(body, 'base_resp')
  const code = numberAt(status, 'status_code') ?? 0
  if (code === 0) return undefined
  const type = passingAtMiniMax.has(code) ? 'unavailable' : 'refused'
  return { message: stringAt(status, 'status_msg') || `MiniMax says ${code}.`, code, type }
}

/** The codes of answers that were late, of too many requests, and of failures inside. */
const passingAtMiniMax: ReadonlySet<number> = new Set([1000, 1001, 1002, 1013, 1024, 1033])

const isText = (value: JsonValue | undefined): boolean =>
  typeof value === 'string' ? value !== '' : typeof value === 'object' && value !== null

const messageOf = (error: JsonObject): string => {
  const said = textIn(error) ?? JSON.stringify(error).slice(0, longestRaw)
  // Groq keeps what the model had written, OpenRouter what the upstream provider had answered.
  const failed = stringAt(error, 'failed_generation')
  const raw = rawCause(objectAt(error, 'metadata'))
  return `${said}${failed ? ` Failed generation: ${failed.slice(0, longestGeneration)}` : ''}${raw ? ` (${raw})` : ''}`
}

const textIn = (error: JsonObject): string | undefined => {
  for (const key of ['message', 'detail', 'msg', 'title']) {
    const value = ownValue(error, key)
    if (typeof value === 'string' && value !== '') return value
    if (Array.isArray(value)) return value.map(validationText).join('; ')
    if (isJsonObject(value)) return textIn(value)
  }
  return undefined
}

/** Writes out an entry of the validation errors that FastAPI servers answer with. */
const validationText = (entry: JsonValue): string => {
  if (!isJsonObject(entry)) return String(entry)
  const where = arrayAt(entry, 'loc')?.join('.')
  return `${where ? `${where}: ` : ''}${textIn(entry) ?? JSON.stringify(entry)}`
}

const rawCause = (metadata: JsonObject | undefined): string | undefined => {
  const raw = metadata && ownValue(metadata, 'raw')
  if (raw === undefined || raw === null) return undefined
  return (typeof raw === 'string' ? raw : JSON.stringify(raw)).slice(0, longestRaw)
}

const codeOf = (error: JsonObject): string | undefined => {
  for (const key of ['code', 'status', 'type']) {
    const value = ownValue(error, key)
    if (typeof value === 'number' || (typeof value === 'string' && value !== '')) return String(value)
  }
  return undefined
}

/** Together answers errors with the id of the request; in a chunk the same field names the response. */
const requestIdOf = (around: JsonObject): string | undefined =>
  Object.hasOwn(around, 'choices') ? undefined : stringAt(around, 'id')
