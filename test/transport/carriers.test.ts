import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { Agent, MockAgent, ProxyAgent } from 'undici'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { deadPort } from '../ports.ts'
import { echoModel, listen, received } from './echoModel.ts'
import { chunk, chunkedHead, head, lastChunk, pause, rawServer, untilClose } from './rawServer.ts'

const done = `${untilClose()}data: a\n\ndata: [DONE]\n\n`

describe('a fetch of the user', () => {
  it('carries the request instead of undici', async () => {
    const server = await rawServer(async ({ socket }) => {
      socket.write(chunkedHead() + chunk('data: na\u00efve\n\n'))
      await pause(5)
      socket.write(chunk('data: [DONE]\n\n') + lastChunk)
    })
    const urls: unknown[] = []
    const mine: typeof fetch = (input, init) => {
      urls.push(input)
      return fetch(input, init)
    }
    const { text, outcomes } = await received(
      echoModel({ baseUrl: server.url, fetch: mine, apiKey: 'key-1' }),
    )
    expect({ text, outcomes, urls }).toEqual({
      text: 'naïve',
      outcomes: ['end'],
      urls: [`${server.url}/chat`],
    })
    expect(server.requests[0]?.head).toMatch(/authorization: Bearer key-1/i)
  })

  it('is aborted by close, and the server sees it', async () => {
    const server = await rawServer(({ socket }) => socket.write(chunkedHead() + chunk('data: a\n\n')))
    const listening = listen(echoModel({ baseUrl: server.url, fetch }))
    await listening.firstBatch
    listening.close()
    await server.closed()
    await pause()
    expect(listening.received.outcomes).toEqual([])
  })

  it('is drained after the terminal event, and aborted when the rest does not come', async () => {
    const server = await rawServer(({ socket }) => socket.write(chunkedHead() + chunk('data: [DONE]\n\n')))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { outcomes } = await received(echoModel({ baseUrl: server.url, fetch }))
    expect(outcomes).toEqual(['end'])
    expect(server.sockets[0]?.destroyed).toBe(false)
    vi.advanceTimersByTime(5000)
    await server.closed()
  })

  it('may hide where a redirect leads, as browsers do', async () => {
    const opaque: typeof fetch = async () =>
      Object.defineProperty(new Response(null, { status: 200 }), 'status', { value: 0 })
    const { error } = await received(echoModel({ baseUrl: 'http://model.invalid', fetch: opaque }))
    expect(error?.message).toMatch(/^The server redirects\. Redirects are not followed/)
  })

  it('reports broken connections like undici does', async () => {
    const port = await deadPort()
    const refused = await received(echoModel({ baseUrl: `http://127.0.0.1:${port}`, fetch }))
    expect(refused.error).toMatchObject({ code: 'ECONNREFUSED', retryable: true, provider: 'acme' })
    const server = await rawServer(async ({ socket }) => {
      socket.write(chunkedHead() + chunk('data: a\n\n'))
      await pause(5)
      socket.resetAndDestroy()
    })
    const cut = await received(echoModel({ baseUrl: server.url, fetch }))
    expect(cut.text).toBe('a')
    expect(cut.error).toMatchObject({ name: 'ModelError', retryable: true })
    expect(cut.error?.code).toMatch(/^(ECONNRESET|UND_ERR_SOCKET)$/)
  })

  it('does not follow redirects and reads HTTP errors', async () => {
    const answers = [
      'HTTP/1.1 302 Found\r\nlocation: http://example.invalid/x?k=1\r\ncontent-length: 0\r\n\r\n',
      'HTTP/1.1 400 Bad\r\ncontent-length: 15\r\n\r\n{"error":"bad"}',
    ]
    const server = await rawServer(({ socket }) => socket.write(answers.shift() ?? ''))
    const redirect = await received(echoModel({ baseUrl: server.url, fetch }))
    expect(redirect.error).toMatchObject({
      status: 302,
      message: expect.stringContaining('http://example.invalid/x.'),
    })
    const bad = await received(echoModel({ baseUrl: server.url, fetch }))
    expect(bad.error).toMatchObject({ status: 400, message: expect.stringMatching(/^bad \(/) })
  })

  it('reads bodies that fetch has inflated already', async () => {
    const body = gzipSync('data: a\n\ndata: [DONE]\n\n')
    const server = await rawServer(({ socket }) => {
      socket.write(head('text/event-stream', `content-encoding: gzip\r\ncontent-length: ${body.length}\r\n`))
      socket.write(body)
    })
    expect((await received(echoModel({ baseUrl: server.url, fetch }))).text).toBe('a')
  })
})

describe('a dispatcher of the user', () => {
  it('carries the request', async () => {
    const server = await rawServer(({ socket }) => socket.end(done))
    const dispatcher = new Agent({ connections: 1 })
    onTestFinished(() => dispatcher.destroy())
    const { text, outcomes } = await received(echoModel({ baseUrl: server.url, dispatcher }))
    expect({ text, outcomes }).toEqual({ text: 'a', outcomes: ['end'] })
  })

  it('may be a proxy', async () => {
    const proxy = await rawServer(({ socket, head: request }) => {
      if (request.startsWith('CONNECT')) socket.write('HTTP/1.1 200 OK\r\n\r\n')
      else socket.end(done)
    })
    const dispatcher = new ProxyAgent(proxy.url)
    onTestFinished(() => dispatcher.destroy())
    const { text } = await received(echoModel({ baseUrl: 'http://model.invalid/v1', dispatcher }))
    expect(text).toBe('a')
    expect(proxy.requests[0]?.head).toContain('model.invalid')
  })

  it('may answer before its dispatch returns', async () => {
    const dispatcher = new MockAgent()
    dispatcher.disableNetConnect()
    dispatcher
      .get('http://model.invalid')
      .intercept({ path: '/chat', method: 'POST' })
      .reply(200, 'data: a\n\ndata: [DONE]\n\n')
    const { text, outcomes } = await received(echoModel({ baseUrl: 'http://model.invalid', dispatcher }))
    expect({ text, outcomes }).toEqual({ text: 'a', outcomes: ['end'] })
  })

  it('fails once when it is closed already', async () => {
    const dispatcher = new Agent()
    await dispatcher.close()
    const { error, outcomes } = await received(echoModel({ baseUrl: 'http://127.0.0.1:1', dispatcher }))
    expect(outcomes).toEqual(['fail'])
    expect(error).toMatchObject({ retryable: false, message: expect.stringContaining('closed') })
  })
})

describe('compression', () => {
  const text = 'data: first\n\ndata: na\u00efve\n\ndata: [DONE]\n\n'

  it('is not asked for', async () => {
    const server = await rawServer(({ socket }) => socket.end(done))
    await received(echoModel({ baseUrl: server.url }))
    expect(server.requests[0]?.head).toMatch(/^accept-encoding: identity$/im)
  })

  it.each([
    ['gzip', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['br', brotliCompressSync(text)],
  ])('with %s is undone when a proxy compresses anyway', async (encoding, body) => {
    const server = await rawServer(async ({ socket }) => {
      socket.write(
        head('text/event-stream', `content-encoding: ${encoding}\r\ncontent-length: ${body.length}\r\n`),
      )
      socket.write(body.subarray(0, 12))
      await pause(5)
      socket.write(body.subarray(12))
    })
    const seen = await received(echoModel({ baseUrl: server.url }))
    expect({ text: seen.text, outcomes: seen.outcomes }).toEqual({ text: 'firstnaïve', outcomes: ['end'] })
  })

  it('loses nothing of what came before the connection broke', async () => {
    const body = gzipSync('data: a\n\n'.repeat(20_000))
    const server = await rawServer(({ socket }) => {
      socket.write(
        head('text/event-stream', `content-encoding: gzip\r\ncontent-length: ${body.length + 1}\r\n`),
      )
      socket.end(body)
    })
    const { text, error, outcomes } = await received(echoModel({ baseUrl: server.url }))
    expect([text.length, outcomes]).toEqual([20_000, ['fail']])
    expect(error?.code).toMatch(/^UND_ERR_/)
  })

  it('also of error bodies is undone', async () => {
    const body = gzipSync('{"error":"bad"}')
    const server = await rawServer(({ socket }) => {
      socket.write(`HTTP/1.1 400 Bad\r\ncontent-encoding: gzip\r\ncontent-length: ${body.length}\r\n\r\n`)
      socket.write(body)
    })
    expect((await received(echoModel({ baseUrl: server.url }))).error).toMatchObject({
      status: 400,
      message: expect.stringMatching(/^bad \(/),
    })
  })

  it('that is not known, or that is broken, is a clear error', async () => {
    for (const encoding of ['zap', 'gzip']) {
      const server = await rawServer(({ socket }) =>
        socket.write(`${head('text/event-stream', `content-encoding: ${encoding}\r\n`)}no such bytes`),
      )
      const { error, outcomes } = await received(echoModel({ baseUrl: server.url }))
      expect(outcomes).toEqual(['fail'])
      expect(error).toMatchObject({ retryable: false, message: expect.stringContaining('compresse') })
      await server.closed()
    }
  })

  it('does not get around the size limit', async () => {
    const bomb = gzipSync(`data: ${'x'.repeat(5_000_000)}\n\n`)
    const server = await rawServer(({ socket }) => {
      socket.write(head('text/event-stream', 'content-encoding: gzip\r\n'))
      socket.write(bomb)
    })
    const { error } = await received(
      echoModel({ baseUrl: server.url, limits: { maxResponseSize: 1_000_000 } }),
    )
    expect(error).toMatchObject({ code: 'response_too_large' })
    await server.closed()
  })
})
