import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import { pause } from '../transport/rawServer.ts'

/**
 * The end of an answer: as HTTP wants it; the same without the line breaks that close its last event; with the
 * connection closed or reset in the middle of the body; or never.
 */
export type Ending = 'clean' | 'noBlankLine' | 'destroy' | 'reset' | 'stall'

export type Piece = string | Uint8Array

/** A raw answer. Each piece of the body is its own HTTP chunk, which the client reads by itself. */
export type Answer = {
  status?: number
  headers?: Record<string, string>
  body: Piece | readonly Piece[]
  ending?: Ending
  /** The body has no length and no chunks: only the end of the connection ends it. */
  untilClose?: boolean
  /** Silence before the head, and again before each piece. */
  silenceMs?: number
}

export type HostileRequest = { path: string; headers: IncomingMessage['headers']; body: JsonObject }

export type HostileServer = {
  url: string
  requests: HostileRequest[]
  /** Resolves when the client has closed every connection. */
  left(): Promise<void>
}

/** A loopback server that gives one answer per request, in order, and refuses whatever is asked beyond them. */
export const hostileServer = async (answers: readonly Answer[]): Promise<HostileServer> => {
  const requests: HostileRequest[] = []
  const sockets = new Set<Socket>()
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request)
    const answer = answers[requests.push({ path: request.url ?? '', headers: request.headers, body }) - 1]
    await give(response, answer ?? { status: 418, body: 'There is no answer left for this request.' })
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  const left = async (): Promise<void> => {
    while (sockets.size > 0) await pause(2)
  }
  return { url: `http://127.0.0.1:${port}`, requests, left }
}

const bodyOf = async (request: IncomingMessage): Promise<JsonObject> => {
  let text = ''
  for await (const piece of request.setEncoding('utf8')) text += piece
  const body: unknown = text === '' ? {} : JSON.parse(text)
  return isJsonObject(body) ? body : {}
}

const give = async (response: ServerResponse, answer: Answer): Promise<void> => {
  const { status = 200, ending = 'clean', untilClose = false, silenceMs = 0 } = answer
  const headers = answer.headers ?? { 'content-type': 'text/event-stream' }
  const pieces = piecesOf(answer)
  if (silenceMs > 0) await pause(silenceMs)
  if (untilClose) {
    response.useChunkedEncodingByDefault = false
    response.shouldKeepAlive = false
  }
  response.writeHead(status, headers)
  response.flushHeaders()
  let flushed: Promise<void> | undefined
  for (const piece of pieces) {
    if (silenceMs > 0) await pause(silenceMs)
    flushed = new Promise((resolve) => response.write(piece, () => resolve()))
  }
  // A connection that is broken too soon would swallow what was written.
  await flushed
  if (ending === 'stall') return
  if (ending === 'destroy') response.socket?.destroy()
  else if (ending === 'reset') {
    // A reset throws away what the other side has not read yet.
    await pause(20)
    response.socket?.resetAndDestroy()
  } else response.end()
}

const piecesOf = ({ body, ending }: Answer): Piece[] => {
  const pieces = typeof body === 'string' || body instanceof Uint8Array ? [body] : [...body]
  const last = pieces.at(-1)
  if (ending !== 'noBlankLine' || typeof last !== 'string') return pieces.filter(isNotEmpty)
  return [...pieces.slice(0, -1), last.replace(/[\r\n]+$/, '')].filter(isNotEmpty)
}

const isNotEmpty = (piece: Piece): boolean => piece.length > 0

/** A text, one byte to a read. */
export const inBytes = (text: string): Uint8Array[] =>
  [...Buffer.from(text)].map((byte) => Uint8Array.of(byte))
