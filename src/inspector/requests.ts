import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { isJsonObject, type JsonObject } from '../messages/json.ts'

/** Makes a token that cannot be guessed: anyone who has the address can see and command the agents. */
export const newToken = (): string => randomBytes(24).toString('base64url')

export const isToken = (given: string, token: string): boolean => {
  const a = Buffer.from(given)
  const b = Buffer.from(token)
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Headers with which the page may load nothing from elsewhere, cannot be framed, and does not pass its address on. */
export const securityHeaders: OutgoingHttpHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** Refuses other names: a foreign page may have pointed its own domain to this address. */
export const isOwnHost = ({ headers: { host } }: IncomingMessage, port: number): boolean =>
  host === `127.0.0.1:${port}` || host === `localhost:${port}`

/** Accepts requests of the inspector's page, and of programs that are not pages. */
export const isOwnOrigin = ({ headers }: IncomingMessage): boolean => {
  const { origin, host } = headers
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  return origin === undefined || origin === `http://${host}`
}

/** A refused request. The message is the body of the answer. */
export class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export const answer = (
  response: ServerResponse,
  status: number,
  type: string,
  body: string | Uint8Array,
): void => {
  response.writeHead(status, { ...securityHeaders, 'content-type': `${type}; charset=utf-8` })
  response.end(body)
}

const largestBody = 256 * 1024

/** Reads the JSON object that was posted. */
export const bodyOf = async (request: IncomingMessage): Promise<JsonObject> => {
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw new Refusal(415, 'A command must be JSON.')
  }
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length
    if (size > largestBody) throw new Refusal(413, 'The command is too large.')
    pieces.push(piece)
  }
  const body = parsed(Buffer.concat(pieces).toString())
  if (!isJsonObject(body)) throw new Refusal(400, 'A command must be a JSON object.')
  return body
}

const parsed = (text: string): JsonObject | undefined => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
