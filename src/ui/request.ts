import { ConfigurationError } from '../messages/errors.ts'
import { isJsonObject, type JsonObject } from '../messages/json.ts'
import { isTooDeep, tooDeep } from '../messages/jsonDepth.ts'

/** Answers a request. An error on the way becomes a response: an `HttpError` as it is, any other with the text to show. */
export const respond = async (
  request: Request,
  answer: (request: Request) => Promise<Response>,
  { showError, report }: { showError: (error: unknown) => string; report: (error: unknown) => Promise<void> },
  errorBody: (error: HttpError) => Response = plainError,
): Promise<Response> => {
  mustBeRequest(request)
  try {
    return await answer(request)
  } catch (thrown) {
    await report(thrown)
    return errorBody(httpErrorOf(thrown, showError))
  }
}

/** Refuses a request that is not a `Request` of the web platform: nothing could be read from it. */
const mustBeRequest = (request: unknown): void => {
  if (typeof Object(Object(request).headers).get !== 'function')
    throw new ConfigurationError(
      'This handler takes a Request of the web platform: write nodeListener(handler) for node:http, Express and pages/api of Next.js, and handler(context.req.raw) for Hono.',
    )
}

/** The error that a client gets for anything that was thrown. */
export const httpErrorOf = (thrown: unknown, showError: (error: unknown) => string): HttpError =>
  thrown instanceof HttpError ? thrown : new HttpError(500, showError(thrown), 'server_error')

/** An error as plain text, which clients show. */
const plainError = ({ status, message }: HttpError): Response =>
  new Response(message, { status, headers: { 'content-type': 'text/plain; charset=utf-8' } })

/** Checks the id of a chat, which the client makes. */
export const chatIdOf = (value: unknown): string => {
  if (typeof value === 'string' && value !== '' && value.length <= 200 && !/\p{Cc}/u.test(value)) return value
  if (value === undefined)
    throw new HttpError(400, 'The request names no chat: its id, or its threadId, is missing.')
  throw new HttpError(400, 'The id of a chat must have 1 to 200 characters, without control characters.')
}

/** Decodes a segment of a path; `''` if it cannot be decoded. */
export const decodedSegment = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return ''
  }
}

/** The error that a request is answered with. The client may read its message. */
export class HttpError extends Error {
  readonly status: number
  /** A code for programs. */
  readonly code: string

  constructor(status: number, message: string, code = 'invalid_request') {
    super(message)
    this.status = status
    this.code = code
  }
}

/**
 * Reads the JSON object in the body of a request. Its size is checked while it is read, its depth before it is parsed. Any
 * other content type is refused, because a form on another site can send it without the browser's permission.
 */
export const readBody = async (request: Request, maxBytes: number): Promise<JsonObject> => {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/json\s*(;|$)/i.test(type))
    throw new HttpError(415, 'Send JSON, with the header content-type: application/json.')
  const text = decode(await bytesOf(request, maxBytes))
  if (isTooDeep(text)) throw new HttpError(400, `The body ${tooDeep}.`)
  const body = parse(text)
  if (!isJsonObject(body)) throw new HttpError(400, 'The body must be a JSON object.')
  return body
}

const tooLarge = (maxBytes: number) =>
  new HttpError(413, `The body is larger than ${maxBytes} bytes.`, 'too_large')

const bytesOf = async (request: Request, maxBytes: number): Promise<Uint8Array[]> => {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
  const reader = request.body?.getReader()
  const pieces: Uint8Array[] = []
  let size = 0
  for (;;) {
    const read = await reader?.read().catch(() => undefined)
    if (reader && !read) throw new HttpError(400, 'The body ended too early.')
    if (!read?.value) return pieces
    size += read.value.length
    pieces.push(read.value)
    if (size > maxBytes) {
      void reader?.cancel().catch(() => {})
      throw tooLarge(maxBytes)
    }
  }
}

const decode = (pieces: readonly Uint8Array[]): string => {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    return pieces.map((piece) => decoder.decode(piece, { stream: true })).join('') + decoder.decode()
  } catch {
    throw new HttpError(400, 'The body is not UTF-8.')
  }
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw new HttpError(400, 'The body is not JSON.')
  }
}
