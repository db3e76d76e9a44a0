import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { deadPort } from '../ports.ts'
import { echoModel, listen, received } from './echoModel.ts'
import { chunk, chunkedHead, head, pause, rawServer, untilClose } from './rawServer.ts'

const key = 'very-secret-key'

describe('a broken connection', () => {
  it('is a retryable error that names the host when no server listens', async () => {
    const port = await deadPort()
    const { error, outcomes } = await received(
      echoModel({ baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: key }),
    )
    expect(outcomes).toEqual(['fail'])
    expect(error).toMatchObject({
      name: 'ModelError',
      provider: 'acme',
      code: 'ECONNREFUSED',
      retryable: true,
    })
    expect(error?.message).toContain(`127.0.0.1:${port}`)
    expect(error?.message).toContain('baseUrl')
    expect(error?.cause).toMatchObject({ name: 'Error', code: 'ECONNREFUSED' })
    expect(JSON.stringify(error)).not.toContain(key)
  })

  it('is one failure when every address of a name refuses', async () => {
    const port = await deadPort()
    const { error } = await received(echoModel({ baseUrl: `http://localhost:${port}` }))
    expect(error).toMatchObject({ code: 'ECONNREFUSED', retryable: true })
    expect(error?.cause?.message).not.toBe('')
  })

  it('is a retryable error when the name does not resolve', async () => {
    const { error } = await received(echoModel({ baseUrl: 'http://no-such-host.invalid' }))
    expect(['ENOTFOUND', 'EAI_AGAIN']).toContain(error?.code)
    expect(error).toMatchObject({ retryable: true })
    expect(error?.message).toContain('no-such-host.invalid:80')
  })

  it.each([
    ['before the head', ''],
    ['in the head', 'HTTP/1.1 200 OK\r\ncontent-ty'],
    ['between head and body', chunkedHead()],
    ['in an event', chunkedHead() + chunk('data: {"a')],
    ['in a chunk', `${chunkedHead()}ff\r\ndata: `],
  ])('is a retryable error when it is reset %s', async (_, sent) => {
    const server = await rawServer(async ({ socket }) => {
      if (sent) socket.write(sent)
      await pause(5)
      socket.resetAndDestroy()
    })
    const { error, outcomes, text } = await received(echoModel({ baseUrl: server.url, apiKey: key }))
    expect({ outcomes, text }).toEqual({ outcomes: ['fail'], text: '' })
    expect(error).toMatchObject({ name: 'ModelError', provider: 'acme', retryable: true })
    expect(error?.code).toMatch(/^(ECONNRESET|UND_ERR_SOCKET)$/)
    expect(JSON.stringify(error)).not.toContain(key)
  })

  it('keeps the text and the whole calls that came before it', async () => {
    const server = await rawServer(async ({ socket }) => {
      socket.write(chunkedHead() + chunk('data: a\n\ndata: [CALL]\n\ndata: half'))
      await pause(5)
      socket.resetAndDestroy()
    })
    const { deltas, error } = await received(echoModel({ baseUrl: server.url }))
    expect(deltas.map(({ type }) => type)).toEqual(['text', 'toolCall'])
    expect(error?.code).toMatch(/^(ECONNRESET|UND_ERR_SOCKET)$/)
  })

  it('does not matter once the protocol said that the answer is whole', async () => {
    const server = await rawServer(async ({ socket }) => {
      socket.write(chunkedHead() + chunk('data: a\n\ndata: [SOFT]\n\ndata: {"usa'))
      await pause(5)
      socket.resetAndDestroy()
    })
    const { deltas, outcomes } = await received(echoModel({ baseUrl: server.url }))
    expect(deltas.map(({ type }) => type)).toEqual(['text', 'finish'])
    expect(outcomes).toEqual(['end'])
  })

  it('is seen when a body ends before its announced length', async () => {
    const server = await rawServer(({ socket }) =>
      socket.end(`${head('text/event-stream', 'content-length: 500\r\n')}data: a\n\n`),
    )
    const { text, error } = await received(echoModel({ baseUrl: server.url }))
    expect(text).toBe('a')
    expect(error).toMatchObject({ name: 'ModelError', retryable: true })
  })

  it('is an error when the answer is not HTTP', async () => {
    const server = await rawServer(({ socket }) => socket.end('SSH-2.0-OpenSSH_9.6\r\n'))
    const { error } = await received(echoModel({ baseUrl: server.url }))
    expect(error).toMatchObject({ code: 'invalid_http', retryable: true })
    expect(error?.message).toContain('not valid HTTP')
  })

  it('is an error that cannot be retried when TLS meets plain HTTP', async () => {
    const server = await rawServer(() => {})
    server.sockets.push = (...sockets) => {
      for (const socket of sockets) socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
      return Array.prototype.push.apply(server.sockets, sockets)
    }
    const { error } = await received(echoModel({ baseUrl: server.url.replace('http:', 'https:') }))
    expect(error).toMatchObject({ retryable: false })
    expect(error?.message).toContain('http or https')
  })
})

describe('limits', () => {
  it('stop an event that never ends, and close the connection', async () => {
    const server = await rawServer(({ socket }) => {
      socket.write(`${untilClose()}data: `)
      const flood = (): void =>
        void (socket.destroyed || socket.write('x'.repeat(10_000), () => setImmediate(flood)))
      flood()
    })
    const { error, outcomes } = await received(
      echoModel({ baseUrl: server.url, limits: { maxEventSize: 100_000 } }),
    )
    expect(outcomes).toEqual(['fail'])
    expect(error).toMatchObject({ code: 'event_too_large', retryable: false, provider: 'acme' })
    await server.closed()
  })

  it('stop a response that never ends, and close the connection', async () => {
    const server = await rawServer(({ socket }) => {
      socket.write(untilClose())
      const flood = (): void =>
        void (socket.destroyed || socket.write('data: x\n\n'.repeat(100), () => setImmediate(flood)))
      flood()
    })
    const { error, text } = await received(
      echoModel({ baseUrl: server.url, limits: { maxResponseSize: 50_000 } }),
    )
    expect(error).toMatchObject({ code: 'response_too_large', retryable: false })
    expect(text.length).toBeGreaterThan(1000)
    await server.closed()
  })
})

describe('close', () => {
  it.each([
    ['before the head', ''],
    ['after the head', chunkedHead()],
    ['in the stream', chunkedHead() + chunk('data: a\n\n')],
    ['in an error body', 'HTTP/1.1 500 Oh\r\ncontent-length: 99\r\n\r\n{"err'],
  ])('reaches the server at once %s, and nothing comes afterwards', async (_, sent) => {
    // No timer ends: where it were not closed at once, it would stay open.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const server = await rawServer(async ({ socket }) => {
      socket.write(sent)
      while (!socket.destroyed && sent.includes('data:')) {
        await pause(1)
        socket.write(chunk('data: more\n\n'))
      }
    })
    const listening = listen(echoModel({ baseUrl: server.url }))
    while (server.requests.length === 0) await pause(1)
    await pause(10)
    listening.close()
    listening.close()
    const before = structuredClone(listening.received)
    await server.closed()
    await pause(10)
    expect(listening.received).toEqual(before)
    expect(before.outcomes).toEqual([])
  })

  it('sends nothing at all when it comes at once', async () => {
    const server = await rawServer(() => {})
    const model = echoModel({ baseUrl: server.url })
    for (let round = 0; round < 5; round++) listen(model).close()
    await pause(30)
    expect(server.requests).toEqual([])
  })

  it('from within the sink stops everything after the batch', async () => {
    const server = await rawServer(({ socket }) =>
      socket.end(`${untilClose()}data: a\n\ndata: b\n\ndata: [DONE]\n\n`),
    )
    const calls: string[] = []
    const close = echoModel({ baseUrl: server.url }).stream(
      { messages: [] },
      {
        deltas: (batch) => {
          calls.push(`${batch.length} deltas`)
          close()
        },
        end: () => void calls.push('end'),
        fail: () => void calls.push('fail'),
      },
    )
    await server.closed()
    await pause(10)
    expect(calls).toEqual(['3 deltas'])
  })
})
