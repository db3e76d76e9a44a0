import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'

/** How an answer ends: as HTTP wants it, with its connection closed or reset, or never. */
export type Ending = 'clean' | 'destroy' | 'reset' | 'stall'

/** One answer of a script. */
export type ServedAnswer = {
  status?: number
  headers?: Record<string, string>
  body: Uint8Array
  /** Where the body is cut into writes. */
  cuts?: readonly number[]
  ending?: Ending
  /** The body is all there is: no status, no headers. */
  isHeadless?: boolean
  /** The way in which the end of the body is marked. */
  framing?: 'chunked' | 'length' | 'close'
  isCompressed?: boolean
}

/** A place of its own on the server: its answers are given in order, and what is asked beyond them is refused. */
export type Scripted = { url: string; bodies: JsonObject[] }

export type FaultServer = {
  /** `onStall` is called when the answer at a place has fallen silent for good. */
  script(answers: readonly ServedAnswer[], onStall?: (place: number) => void): Scripted
  /** Answers that are still being given: the client has neither taken them to the end nor left. */
  readonly open: number
  close(): Promise<void>
}

type Script = {
  answers: readonly ServedAnswer[]
  bodies: JsonObject[]
  onStall: ((place: number) => void) | undefined
}

/** A server that keeps its connections alive across scripts and breaks them where a script says so. */
export const faultServer = async (wanted = 0): Promise<FaultServer> => {
  const scripts = new Map<string, Script>()
  let count = 0
  const open = new Set<object>()
  const server = createServer(async (request, response) => {
    // A response that waits for the one before it has no socket yet, and is not closed with the connection.
    open.add(response)
    const closed = () => {
      open.delete(response)
      request.socket.off('close', closed)
    }
    response.once('close', closed)
    request.socket.once('close', closed)
    const script = scripts.get(/^\/(\d+)\//.exec(request.url ?? '')?.[1] ?? '')
    const body = await bodyOf(request).catch(() => undefined)
    if (!body || response.destroyed) return
    const place = (script?.bodies.push(body) ?? 0) - 1
    const answer = script?.answers[place]
    await give(response, request.socket, answer ?? beyond)
    if (answer?.ending === 'stall') {
      await turns(10)
      if (!response.destroyed) script?.onStall?.(place)
    }
  })
  server.on('connection', (socket) => socket.setNoDelay(true).on('error', () => {}))
  server.on('clientError', (_, socket) => socket.destroy())
  server.listen(wanted, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    script(answers, onStall) {
      count += 1
      const id = `${count}`
      const bodies: JsonObject[] = []
      scripts.set(id, { answers, bodies, onStall })
      scripts.delete(`${count - 10}`)
      return { url: `http://127.0.0.1:${port}/${id}`, bodies }
    },
    get open() {
      return open.size
    },
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

const beyond: ServedAnswer = { status: 418, body: Buffer.from('There is no answer left for this request.') }

const bodyOf = async (request: IncomingMessage): Promise<JsonObject> => {
  let text = ''
  for await (const piece of request.setEncoding('utf8')) text += piece
  const body: unknown = JSON.parse(text)
  return isJsonObject(body) ? body : {}
}

/** The socket is the request's: a response gets its own only when the one before it has left. */
const give = async (response: ServerResponse, socket: Socket, answer: ServedAnswer): Promise<void> => {
  const { status = 200, headers = {}, ending = 'clean', isHeadless, framing = 'chunked' } = answer
  const body = answer.isCompressed ? gzipSync(answer.body) : answer.body
  const write = (piece: Uint8Array): Promise<void> =>
    new Promise((resolve) => {
      if (response.destroyed || socket.destroyed) resolve()
      else if (isHeadless) socket.write(piece, () => resolve())
      else response.write(piece, () => resolve())
    })
  if (!isHeadless) {
    if (framing === 'close') {
      response.useChunkedEncodingByDefault = false
      response.shouldKeepAlive = false
    }
    // One byte more is promised than will ever come, unless the answer ends well.
    if (framing === 'length') response.setHeader('content-length', body.length + (ending === 'clean' ? 0 : 1))
    if (answer.isCompressed) response.setHeader('content-encoding', 'gzip')
    response.writeHead(status, headers)
    response.flushHeaders()
  }
  let from = 0
  // A broken connection must not swallow what was written before: each piece is flushed.
  for (const to of [...(answer.cuts ?? []), body.length]) {
    if (to > from) await write(body.subarray(from, to))
    from = Math.max(from, to)
    await turns(1)
  }
  if (ending === 'clean' && !isHeadless) response.end()
  else if (ending === 'destroy' || ending === 'clean') socket.destroy()
  else if (ending === 'reset') {
    // A reset throws away what the other side has not read yet.
    await turns(10)
    socket.resetAndDestroy()
  }
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise((next) => setImmediate(next))
}
