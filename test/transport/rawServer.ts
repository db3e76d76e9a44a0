import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { onTestFinished } from 'vitest'

export type RawRequest = {
  /** Request line and headers, as they came. */
  head: string
  body: string
  socket: Socket
  /** Counts the connections from 0. */
  connection: number
}

export type RawServer = {
  url: string
  requests: RawRequest[]
  sockets: Socket[]
  /** Resolves when the connection, once it was made, is closed. */
  closed(connection?: number): Promise<void>
  close(): Promise<void>
}

/** A server that answers with bytes, not with HTTP: it can cut, reset, stall and lie at will. */
export const rawServer = async (answer: (request: RawRequest) => void): Promise<RawServer> => {
  const requests: RawRequest[] = []
  const sockets: Socket[] = []
  const closings: Promise<void>[] = []
  const server = createServer((socket) => {
    const connection = sockets.push(socket) - 1
    closings.push(new Promise((resolve) => socket.once('close', () => resolve())))
    socket.on('error', () => {})
    socket.setNoDelay(true)
    let received = Buffer.alloc(0)
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes])
      for (let request = takeRequest(); request; request = takeRequest()) {
        const whole = { ...request, socket, connection }
        requests.push(whole)
        answer(whole)
      }
    })
    const takeRequest = (): { head: string; body: string } | undefined => {
      const headEnd = received.indexOf('\r\n\r\n')
      if (headEnd < 0) return undefined
      const head = received.subarray(0, headEnd).toString()
      const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
      const end = headEnd + 4 + length
      if (received.length < end) return undefined
      const body = received.subarray(headEnd + 4, end).toString()
      received = received.subarray(end)
      return { head, body }
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy()
    if (server.listening) await new Promise((resolve) => server.close(resolve))
  }
  onTestFinished(close)
  const { port } = server.address() as AddressInfo
  const closed = async (connection = 0): Promise<void> => {
    while (closings[connection] === undefined) await pause(1)
    await closings[connection]
  }
  return { url: `http://127.0.0.1:${port}`, requests, sockets, closed, close }
}

/** The head of an answer without a length: its body ends with the connection. */
export const head = (contentType: string, extra = ''): string =>
  `HTTP/1.1 200 OK\r\ncontent-type: ${contentType}\r\n${extra}\r\n`

export const untilClose = (contentType = 'text/event-stream'): string =>
  head(contentType, 'connection: close\r\n')

export const chunkedHead = (contentType = 'text/event-stream'): string =>
  head(contentType, 'transfer-encoding: chunked\r\n')

export const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`

export const lastChunk = '0\r\n\r\n'

/** Waits, and then until what has come is read: in a process that was paused, a timer is due before that. */
export const pause = async (ms = 2): Promise<void> => {
  await setTimeout(ms)
  for (let round = 0; round < 2; round += 1) await setImmediate()
}
