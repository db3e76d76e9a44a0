import { getEventListeners } from 'node:events'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { httpJson } from '../../providers/http/httpJson.ts'
import { ModelError } from '../../src/messages/errors.ts'
import type { Timeouts } from '../../src/model/timeouts.ts'
import { deadPort } from '../ports.ts'
import { echo } from './echoModel.ts'
import { pause, rawServer } from './rawServer.ts'

const apiKey = 'very-secret-key'

type Asking = { signal?: AbortSignal; timeouts?: Timeouts; body?: boolean }

const ask = (baseUrl: string, options: Asking = {}) =>
  httpJson(
    {
      provider: 'acme',
      error: echo.error,
      connection: {
        baseUrl,
        apiKey,
        keyHeader: (key) => ({ 'x-api-key': key }),
        limits: { maxDocumentSize: 1000 },
      },
      signal: options.signal,
      timeouts: options.timeouts,
    },
    options.body ? { path: '/embeddings', body: { input: ['a'] } } : { path: '/models' },
  )

const answering = (answer: string) => rawServer(({ socket }) => socket.end(answer))

describe('a JSON request', () => {
  it('gets without a body, posts with one, and gives the parsed answer', async () => {
    const server = await answering('HTTP/1.1 200 OK\r\n\r\n{"data":[1]}')
    expect(await ask(server.url)).toEqual({ data: [1] })
    expect(await ask(server.url, { body: true })).toEqual({ data: [1] })
    expect(server.requests[0]?.head).toMatch(/^GET \/models /)
    expect(server.requests[0]?.head).toMatch(/^x-api-key: very-secret-key$/m)
    expect(server.requests[1]?.head).toMatch(/^POST \/embeddings /)
    expect(server.requests[1]?.body).toBe('{"input":["a"]}')
  })

  it('rejects with the provider’s error', async () => {
    const server = await answering(
      `HTTP/1.1 429 X\r\nretry-after: 2\r\nrequest-id: r1\r\n\r\n{"error":{"message":"no ${apiKey}","code":"q"}}`,
    )
    const error = await ask(server.url).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ModelError)
    expect(error).toMatchObject({
      name: 'ModelError',
      message: expect.stringMatching(/^no \*\*\* \(acme at /),
      provider: 'acme',
      status: 429,
      code: 'q',
      requestId: 'r1',
      retryable: true,
      retryAfterMs: 2000,
    })
  })

  it('rejects when the connection fails, the body is no JSON or too large', async () => {
    const port = await deadPort()
    await expect(ask(`http://127.0.0.1:${port}`)).rejects.toMatchObject({
      code: 'ECONNREFUSED',
      provider: 'acme',
    })
    const page = await answering('HTTP/1.1 200 OK\r\n\r\n<html>')
    await expect(ask(page.url)).rejects.toMatchObject({ code: 'html_page' })
    const text = await answering('HTTP/1.1 200 OK\r\n\r\nnot json')
    await expect(ask(text.url)).rejects.toMatchObject({ code: 'invalid_json', provider: 'acme' })
    const large = await answering(`HTTP/1.1 200 OK\r\n\r\n["${'x'.repeat(2000)}"]`)
    await expect(ask(large.url)).rejects.toMatchObject({ code: 'response_too_large' })
    await expect(ask('nonsense')).rejects.toMatchObject({ name: 'ConfigurationError' })
  })

  it.each([
    ['nothing', ''],
    ['a head', 'HTTP/1.1 200 OK\r\n\r\n'],
    ['blank lines', 'HTTP/1.1 200 OK\r\n\r\n\n \r\n'],
  ])('stops where no answer begins, though %s came, and closes the connection', async (_, bytes) => {
    const server = await rawServer(({ socket }) => socket.write(bytes))
    const asked = ask(server.url, { timeouts: { firstChunkMs: 250 } })
    await expect(asked).rejects.toMatchObject({
      name: 'TimeoutError',
      message: expect.stringContaining('timeouts.firstChunkMs'),
    })
    await server.closed()
  })

  it('stops where an answer does not go on', async () => {
    const server = await rawServer(({ socket }) => socket.write('HTTP/1.1 200 OK\r\n\r\n{"data":'))
    const asked = ask(server.url, { timeouts: { firstChunkMs: 60_000, idleMs: 100 } })
    await expect(asked).rejects.toMatchObject({
      name: 'TimeoutError',
      message: expect.stringContaining('timeouts.idleMs'),
    })
    await server.closed()
  })

  it('stops when it is aborted, and leaves no listener behind', async () => {
    const server = await rawServer(() => {})
    const controller = new AbortController()
    const asked = ask(server.url, { signal: controller.signal })
    asked.catch(() => {})
    while (server.requests.length === 0) await pause(1)
    controller.abort()
    await expect(asked).rejects.toMatchObject({ name: 'AbortedError' })
    await server.closed()
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    await expect(ask(server.url, { signal: controller.signal })).rejects.toMatchObject({
      name: 'AbortedError',
    })
    expect(server.requests).toHaveLength(1)
  })

  const bomb = (status: string) => {
    // Members of gzip may follow each other: a million bytes that become 768 MiB, more than any string can hold.
    const member = gzipSync(Buffer.alloc(64 * 1024 * 1024, '['))
    const body = Buffer.concat(Array.from({ length: 12 }, () => member))
    expect(body.length).toBeLessThan(1_000_000)
    return rawServer(({ socket }) => {
      socket.write(`HTTP/1.1 ${status}\r\ncontent-encoding: gzip\r\ncontent-length: ${body.length}\r\n\r\n`)
      socket.end(body)
    })
  }
  const unlimited = { provider: 'acme', error: echo.error }
  const connection = { apiKey, keyHeader: (key: string) => ({ 'x-api-key': key }) }

  it('stops a bomb of compressed brackets at its limit, and goes on living', async () => {
    const { url } = await bomb('200 OK')
    await expect(
      httpJson({ ...unlimited, connection: { ...connection, baseUrl: url } }, { path: '/models' }),
    ).rejects.toMatchObject({ code: 'response_too_large', retryable: false, provider: 'acme' })
  })

  it('reads no more of a bomb that is an error than its limit', async () => {
    const { url } = await bomb('500 No')
    const error = await ask(url).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ status: 500, message: expect.stringMatching(/^HTTP 500 No: \[{300} \(/) })
  })

  it('says so, too, where the limit is higher than any string can hold', async () => {
    const { url } = await bomb('200 OK')
    const limits = { maxDocumentSize: 2 ** 40 }
    await expect(
      httpJson({ ...unlimited, connection: { ...connection, baseUrl: url, limits } }, { path: '/models' }),
    ).rejects.toMatchObject({ code: 'response_too_large' })
  })
})
