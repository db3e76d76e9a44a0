import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { JsonObject } from '../src/messages/json.ts'

export type Received = {
  method: string
  path: string
  headers: IncomingHttpHeaders
  /** Empty for a request without a body. */
  body: JsonObject
  /** The body as it came. */
  text: string
}

/** An object goes as JSON, a text and bytes as they are. */
export type Reply = { status?: number; headers?: Record<string, string>; body: string | Uint8Array | object }

export type Loopback = { url: string; requests: Received[] }

/** A server for one test: it keeps what it was asked and answers request number `nth`, counted from 0. */
export const loopback = async (
  answer: (request: Received, nth: number) => Reply | Promise<Reply>,
): Promise<Loopback> => {
  const requests: Received[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8')
    request.on('data', (piece) => {
      text += piece
    })
    request.on('end', async () => {
      const { method = '', url = '', headers } = request
      const received = { method, path: url, headers, body: text === '' ? {} : JSON.parse(text), text }
      const { status = 200, headers: own, body } = await answer(received, requests.push(received) - 1)
      const isRaw = typeof body === 'string' || body instanceof Uint8Array
      response.writeHead(status, { 'content-type': isRaw ? 'text/event-stream' : 'application/json', ...own })
      response.end(isRaw ? body : JSON.stringify(body))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, requests }
}
