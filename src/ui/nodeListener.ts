import type { IncomingMessage, ServerResponse } from 'node:http'
import { callable, checkValue, orWrite } from '../messages/optionRules.ts'

/** Answers a request of the web platform. */
export type Handler = (request: Request) => Response | Promise<Response>

/** A request with the additions of frameworks: the URL before routing, and a body that is already read. */
type ServedRequest = IncomingMessage & { originalUrl?: string; body?: unknown }

/**
 * Makes a listener for `node:http`, Express and Fastify of a handler. When a client leaves, `request.signal` is
 * aborted. The listener waits for a slow reader.
 *
 * @example createServer(nodeListener(uiMessageHandler(agent))).listen(3000)
 * @example
 * // Express, with or without express.json() before it.
 * app.all('/api/chat/{*path}', nodeListener(uiMessageHandler(agent)))
 */
export const nodeListener = (
  handler: Handler,
): ((request: IncomingMessage, response: ServerResponse) => void) => {
  const advised = orWrite(callable, (value) =>
    typeof Object(value).send === 'function' ? 'nodeListener(uiMessageHandler(agent))' : undefined,
  )
  checkValue('The handler of nodeListener', handler, advised)
  return (request, response) => {
    const left = new AbortController()
    response.on('close', () => {
      if (!response.writableFinished) left.abort('the client has left')
    })
    answer(handler, request, response, left.signal).catch(() => {
      if (response.headersSent) response.destroy()
      else response.writeHead(500).end()
    })
  }
}

const answer = async (
  handler: Handler,
  asked: IncomingMessage,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> => {
  const { status, headers, body } = await handler(requestOf(asked, signal))
  response.statusCode = status
  for (const [name, value] of headers) if (name !== 'set-cookie') response.setHeader(name, value)
  const cookies = headers.getSetCookie()
  if (cookies.length > 0) response.setHeader('set-cookie', cookies)
  // The rest of a refused body cannot be skipped: the connection ends with the answer.
  if (!asked.complete) {
    if (asked.httpVersionMajor === 1) response.setHeader('connection', 'close')
    response.on('finish', () => asked.destroy())
  }
  await pipe(body, response, signal)
}

const pipe = async (
  body: ReadableStream<Uint8Array> | null,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> => {
  const reader = body?.getReader()
  const gone = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  const leave = () => void reader?.cancel().catch(() => {})
  signal.addEventListener('abort', leave, { once: true })
  if (signal.aborted) leave()
  for (;;) {
    const read = await reader?.read()
    if (signal.aborted) return
    if (!read?.value) break
    if (!response.write(read.value))
      await Promise.race([gone, new Promise<void>((resolve) => response.once('drain', () => resolve()))])
  }
  response.end()
}

const requestOf = (asked: ServedRequest, signal: AbortSignal): Request => {
  const { method = 'GET', originalUrl, url = '/', socket } = asked
  const scheme = 'encrypted' in socket && socket.encrypted ? 'https' : 'http'
  const headers = headersOf(asked)
  const path = originalUrl ?? url
  const address = `${scheme}://${headers.get('host') ?? 'localhost'}${path}`
  const hasBody = method !== 'GET' && method !== 'HEAD'
  return new Request(URL.canParse(address) ? address : new URL(path, 'http://localhost'), {
    method,
    headers,
    signal,
    ...(hasBody && { body: bodyOf(asked), duplex: 'half' }),
  })
}

const headersOf = ({ rawHeaders, httpVersionMajor }: IncomingMessage): Headers => {
  const headers = new Headers()
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2)
    // Pseudo-headers of HTTP/2 are not headers of the web platform.
    if (httpVersionMajor < 2 || !name.startsWith(':')) headers.append(name, value)
    else if (name === ':authority') headers.set('host', value)
  }
  return headers
}

/** The body of a request, which a parser of the framework may already have read. */
const bodyOf = (asked: ServedRequest): ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> | string => {
  const { body } = asked
  if (body === undefined || body === null) return streamOf(asked)
  if (body instanceof Uint8Array) return new Uint8Array(body)
  return typeof body === 'string' ? body : JSON.stringify(body)
}

const streamOf = (asked: IncomingMessage): ReadableStream<Uint8Array> => {
  let isOver = false
  const stop = () => {
    isOver = true
    asked.removeAllListeners('data')
  }
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        asked.on('data', (bytes: Uint8Array) => {
          controller.enqueue(bytes)
          if ((controller.desiredSize ?? 0) <= 0) asked.pause()
        })
        // Over HTTP/2, a request that was aborted ends after its close.
        asked.on('end', () => {
          if (!isOver) controller.close()
        })
        const fail = (error: Error) => {
          stop()
          controller.error(error)
        }
        asked.on('close', () => {
          if (!asked.readableEnded) fail(new Error('The client has left.'))
        })
        asked.on('error', fail)
      },
      pull: () => void asked.resume(),
      cancel() {
        stop()
        asked.pause()
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 64 * 1024 }),
  )
}
