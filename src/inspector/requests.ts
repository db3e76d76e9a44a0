import type { IncomingMessage, ServerResponse } from 'node:http'
import { isJsonObject, type JsonObject } from '../messages/json.ts'
import { securityHeaders } from './security.ts'

/** A request that is refused, with what the one who asked is told. */
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

/** The JSON object that was posted. */
export const bodyOf = async (request: IncomingMessage): Promise<JsonObject> => {
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw new Refusal(415, 'A command is JSON.')
  }
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length
    if (size > largestBody) throw new Refusal(413, 'That is too large for a command.')
    pieces.push(piece)
  }
  const body = parsed(Buffer.concat(pieces).toString())
  if (!isJsonObject(body)) throw new Refusal(400, 'A command is a JSON object.')
  return body
}

const parsed = (text: string): JsonObject | undefined => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
