import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { JsonObject } from '../../src/messages/json.ts'
import type { Turn, Wire } from '../hostile/wire.ts'

/** What the server does with a request: a turn, event by event, or something of its own. */
export type Script = (body: JsonObject, nth: number) => Turn | ((response: ServerResponse) => void)

export type RunServer = {
  url: string
  requests: JsonObject[]
  /** Connections that are open now. */
  sockets: Set<Socket>
  /** Answers that are not over: neither ended nor broken off. */
  inFlight: Set<ServerResponse>
  /** Resolves when no answer is in flight any more. */
  quiet(): Promise<void>
}

/** A server that writes each event of an answer in a task of its own, and knows what is still open. */
export const runServer = async (wire: Wire, script: Script): Promise<RunServer> => {
  const requests: JsonObject[] = []
  const sockets = new Set<Socket>()
  const inFlight = new Set<ServerResponse>()
  const server = createServer(async (request, response) => {
    inFlight.add(response)
    response.once('close', () => inFlight.delete(response))
    const body = await bodyOf(request)
    if (!body) return
    const answer = script(body, requests.push(body) - 1)
    if (typeof answer === 'function') answer(response)
    else writeTurn(wire, answer, response)
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
  const quiet = async () => {
    for (const response of inFlight) if (!response.closed) await once(response, 'close')
  }
  return { url: `http://127.0.0.1:${port}`, requests, sockets, inFlight, quiet }
}

/** Undefined when the client left before its request was whole. */
const bodyOf = async (request: IncomingMessage): Promise<JsonObject | undefined> => {
  let text = ''
  try {
    for await (const piece of request.setEncoding('utf8')) text += piece
    return text === '' ? {} : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The last event and the end of the body come as one. */
export const writeTurn = (
  { contentType, events }: Wire,
  turn: Turn,
  response: ServerResponse,
  end: (last: string) => void = (last) => response.end(last),
): void => {
  response.writeHead(200, { 'content-type': contentType })
  const pieces = events(turn)
  const last = pieces.pop() ?? ''
  const next = () => {
    if (response.closed) return
    const piece = pieces.shift()
    if (piece === undefined) return end(last)
    response.write(piece)
    setImmediate(next)
  }
  next()
}
