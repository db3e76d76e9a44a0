import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Recover } from '../../providers/http/httpChatModel.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { echo, echoModel, hello, listen, received } from './echoModel.ts'
import { chunk, chunkedHead, lastChunk, pause, rawServer, untilClose } from './rawServer.ts'

const httpServer = async (answer: (request: IncomingMessage, response: ServerResponse) => void) => {
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => answer(request, response))
  })
  let connections = 0
  server.on('connection', () => {
    connections++
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, connections: () => connections }
}

/** From now on time passes only where the test says so. */
const withoutTime = (): void => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
}

describe('the request', () => {
  it('goes below the base path with body, key and the headers of the user', async () => {
    const server = await rawServer(({ socket }) => socket.end(`${untilClose()}data: [DONE]\n\n`))
    const model = echoModel({
      baseUrl: `${server.url}/v1/?api-version=7`,
      apiKey: 'key-1234\n',
      headers: { 'X-Team': 'blue', Accept: 'text/x-mine' },
    })
    expect((await received(model)).outcomes).toEqual(['end'])
    const { head, body } = server.requests[0] ?? { head: '', body: '' }
    expect(head).toMatch(/^POST \/v1\/chat\?api-version=7 HTTP\/1.1\r\n/)
    expect(head).toMatch(/^authorization: Bearer key-1234$/im)
    expect(head).toMatch(/^accept: text\/x-mine$/im)
    expect(head).toMatch(/^x-team: blue$/im)
    expect(head).toMatch(/^content-type: application\/json$/im)
    expect(head.match(/^accept:/gim)).toHaveLength(1)
    expect(JSON.parse(body)).toEqual({ stream: true, messages: 1 })
  })

  it('lets the user replace the key header in any case', async () => {
    const server = await rawServer(({ socket }) => socket.end(`${untilClose()}data: [DONE]\n\n`))
    await received(
      echoModel({ baseUrl: server.url, apiKey: 'ours-1', headers: { AUTHORIZATION: 'Custom x' } }),
    )
    expect(server.requests[0]?.head.match(/^authorization: .*$/gim)).toEqual(['authorization: Custom x'])
  })

  it('uses credentials in the base URL as basic authorization, and never sends them in the URL', async () => {
    const server = await rawServer(({ socket }) => socket.end(`${untilClose()}data: [DONE]\n\n`))
    await received(echoModel({ baseUrl: server.url.replace('//', '//me:pass%20word@') }))
    const expected = Buffer.from('me:pass word').toString('base64')
    expect(server.requests[0]?.head).toContain(`authorization: Basic ${expected}`)
    expect(server.requests[0]?.head).not.toContain('me:')
  })

  it('fails with the mapper’s own error, after the caller holds the close function', async () => {
    const protocol = {
      ...echo,
      request: () => {
        throw new ConfigurationError('no audio here')
      },
    }
    const listening = listen(echoModel({ baseUrl: 'http://127.0.0.1:1' }, { protocol }))
    expect(listening.received.outcomes).toEqual([])
    expect((await listening.over).error).toMatchObject({
      name: 'ConfigurationError',
      message: 'no audio here',
      retryable: false,
    })
  })

  it('refuses a base URL that is not a URL', async () => {
    const { error } = await received(echoModel({ baseUrl: 'localhost:11434' }))
    expect(error).toMatchObject({ name: 'ConfigurationError', retryable: false })
    expect(error?.message).toContain('baseUrl')
  })

  it('refuses a key that no header can carry, without showing it', async () => {
    const { error } = await received(echoModel({ baseUrl: 'http://127.0.0.1:1', apiKey: 'seécret\n-key-→' }))
    expect(error).toMatchObject({ name: 'ModelError', retryable: false })
    expect(error?.message).toContain('Check the API key')
    expect(JSON.stringify(error)).not.toContain('seécret')
  })
})

describe('a stream', () => {
  it('is the same for every cut of its bytes on the wire', async () => {
    const body = Buffer.from('data: naïve\r\n\r\n: x\r\n\r\ndata: 日本🦜\r\n\r\ndata: [DONE]\r\n\r\n')
    const server = await rawServer(async ({ socket, head }) => {
      const cut = Number(/cut=(\d+)/.exec(head)?.[1])
      socket.write(Buffer.concat([Buffer.from(untilClose()), body.subarray(0, cut)]))
      await pause(1)
      socket.end(body.subarray(cut))
    })
    for (let cut = 0; cut <= body.length; cut++) {
      const seen = await listen(echoModel({ baseUrl: `${server.url}/?cut=${cut}` })).over
      expect({ cut, deltas: seen.deltas, outcomes: seen.outcomes }).toEqual({
        cut,
        deltas: [
          { type: 'text', text: 'naïve' },
          { type: 'text', text: '日本🦜' },
          { type: 'finish', reason: 'stop' },
        ],
        outcomes: ['end'],
      })
    }
  })

  it('gives everything of one network read as one batch, however many HTTP chunks it holds', async () => {
    const server = await rawServer(async ({ socket }) => {
      socket.write(chunkedHead())
      await pause()
      socket.write(chunk('data: a\n\n') + chunk('data: b\n\ndata: c') + chunk('\n\n'))
      await pause()
      socket.write(chunk(': alive\n\n'))
      await pause()
      socket.write(chunk('data: d\n\n') + chunk('data: [DONE]\n\n') + lastChunk)
    })
    const { batches } = await received(echoModel({ baseUrl: server.url }))
    expect(batches).toEqual([
      [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
        { type: 'text', text: 'c' },
      ],
      [],
      [
        { type: 'text', text: 'd' },
        { type: 'finish', reason: 'stop' },
      ],
    ])
  })

  it('reads NDJSON with CRLF and without a last line end', async () => {
    const server = await rawServer(({ socket }) =>
      socket.end(`${untilClose('application/x-ndjson')}{"a":1}\r\n{"b":2}\r\n{"c":3}`),
    )
    const { text } = await received(echoModel({ baseUrl: server.url }))
    expect(text).toBe('{"a":1}{"b":2}{"c":3}')
  })

  it('fails with the provider’s message when a JSON error comes with status 200', async () => {
    const server = await httpServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'x-request-id': 'req-9' })
      response.end('{"error":{"message":"model overloaded"}}')
    })
    const { error, outcomes } = await received(echoModel({ baseUrl: server.url }))
    expect(outcomes).toEqual(['fail'])
    expect(error).toMatchObject({ message: 'model overloaded', provider: 'acme', requestId: 'req-9' })
  })

  it('fails clearly when an HTML page comes with status 200', async () => {
    const server = await httpServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' })
      response.write('<html><body>hello')
    })
    const { error } = await received(echoModel({ baseUrl: server.url }))
    expect(error).toMatchObject({ name: 'ModelError', provider: 'acme', code: 'html_page' })
  })

  it('delivers what came before an error event, then fails and closes', async () => {
    const server = await rawServer(({ socket }) =>
      socket.write(`${untilClose()}data: a\n\ndata: {"error":"boom"}\n\ndata: b\n\n`),
    )
    const { text, error, outcomes } = await received(echoModel({ baseUrl: server.url }))
    expect({ text, outcomes, message: error?.message }).toEqual({
      text: 'a',
      outcomes: ['fail'],
      message: 'boom',
    })
    await server.closed()
  })

  it('shows no key that a provider echoes in an error event or a cut stream', async () => {
    const apiKey = 'very-secret-key'
    for (const body of [`data: {"error":"bad key ${apiKey}"}\n\n`, `plain text with ${apiKey}`]) {
      const server = await rawServer(({ socket }) => socket.end(untilClose('text/plain') + body))
      const { error, outcomes } = await received(echoModel({ baseUrl: server.url, apiKey }))
      expect(outcomes).toEqual(['fail'])
      expect(error?.message).toContain('***')
      expect(JSON.stringify(error)).not.toContain(apiKey)
    }
  })

  it('says so when the stream is cut, after the calls that are whole', async () => {
    const server = await rawServer(({ socket }) => socket.end(`${untilClose()}data: a\n\ndata: [CALL]\n\n`))
    const { deltas, error } = await received(echoModel({ baseUrl: server.url }))
    expect(deltas.map(({ type }) => type)).toEqual(['text', 'toolCall'])
    expect(error).toMatchObject({ code: 'truncated', retryable: true, provider: 'acme' })
  })

  it('ends well on a soft finish and a clean end', async () => {
    const server = await rawServer(({ socket }) => socket.end(`${untilClose()}data: a\n\ndata: [SOFT]\n\n`))
    const { deltas, outcomes } = await received(echoModel({ baseUrl: server.url }))
    expect(deltas.at(-1)).toEqual({ type: 'finish', reason: 'stop' })
    expect(outcomes).toEqual(['end'])
  })

  it('fails instead of crashing when a decoder throws', async () => {
    const server = await rawServer(({ socket }) => socket.write(`${untilClose()}data: [THROW]\n\n`))
    const { error, outcomes } = await received(echoModel({ baseUrl: server.url }))
    expect(outcomes).toEqual(['fail'])
    expect(error).toMatchObject({ code: 'undecodable_event', retryable: false })
    await server.closed()
  })

  it('asks once more where the protocol can recover from an HTTP error', async () => {
    const server = await rawServer(({ socket, body }) =>
      socket.end(
        JSON.parse(body).messages === 1
          ? 'HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n{"error":"unknown id"}'
          : `${untilClose()}data: fine\n\ndata: [DONE]\n\n`,
      ),
    )
    const recover: Recover = ({ message }, { messages }) =>
      message === 'unknown id' ? { request: { messages: [...messages, ...messages] } } : undefined
    const { text, outcomes } = await received(echoModel({ baseUrl: server.url }, { recover }))
    expect({ text, outcomes, requests: server.requests.length }).toEqual({
      text: 'fine',
      outcomes: ['end'],
      requests: 2,
    })
  })

  it('gives up after it has recovered twice', async () => {
    const server = await rawServer(({ socket }) =>
      socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n{"error":"unknown id"}'),
    )
    const { error } = await received(
      echoModel({ baseUrl: server.url }, { recover: () => ({ request: hello }) }),
    )
    expect(error?.message).toMatch(/^unknown id \(/)
    expect(server.requests).toHaveLength(3)
  })
})

describe('the connection', () => {
  it('is used again for the next request', async () => {
    const server = await httpServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: a\n\n')
      response.end('data: [DONE]\n\n')
    })
    const model = echoModel({ baseUrl: server.url })
    for (let round = 0; round < 3; round++) expect((await received(model)).outcomes).toEqual(['end'])
    expect(server.connections()).toBe(1)
  })

  it('is used again although the caller closes after the end and the body ends late', async () => {
    withoutTime()
    const answers: ServerResponse[] = []
    const server = await httpServer((_, response) => {
      answers.push(response)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: a\n\ndata: [DONE]\n\n')
    })
    const model = echoModel({ baseUrl: server.url })
    for (let round = 0; round < 2; round++) {
      const listening = listen(model)
      await listening.over
      listening.close()
      await new Promise<void>((sent) => answers[round]?.end(': bye\n\n', sent))
      // What was sent is read within some turns of this process, however slow they are.
      for (let turns = 0; turns < 20; turns++) await turn()
    }
    expect(server.connections()).toBe(1)
  })

  it('is used again after an HTTP error', async () => {
    const server = await httpServer((_, response) => void response.writeHead(500).end('{"error":"x"}'))
    const model = echoModel({ baseUrl: server.url })
    for (let round = 0; round < 2; round++) expect((await received(model)).error?.status).toBe(500)
    expect(server.connections()).toBe(1)
  })

  it('is replaced when the server closed it in the meantime', async () => {
    const server = await rawServer(async ({ socket }) => {
      socket.write(chunkedHead() + chunk('data: a\n\ndata: [DONE]\n\n') + lastChunk)
      await pause(5)
      socket.end()
    })
    const model = echoModel({ baseUrl: server.url })
    for (let round = 0; round < 3; round++) {
      expect((await received(model)).outcomes).toEqual(['end'])
      await server.closed(round)
    }
    expect(server.sockets).toHaveLength(3)
  })

  it('of one request never waits for another', async () => {
    const server = await rawServer(({ socket, connection }) => {
      if (connection > 0) socket.end(`${untilClose()}data: [DONE]\n\n`)
    })
    const model = echoModel({ baseUrl: server.url })
    const stalled = listen(model)
    while (server.requests.length === 0) await pause(1)
    expect((await received(model)).outcomes).toEqual(['end'])
    expect(stalled.received.outcomes).toEqual([])
    stalled.close()
  })

  it('ends the answer at once when the server keeps it open after the terminal event, and is closed soon', async () => {
    const server = await rawServer(({ socket }) =>
      socket.write(chunkedHead() + chunk('data: a\n\n') + chunk('data: [DONE]\n\n')),
    )
    withoutTime()
    const { outcomes } = await listen(echoModel({ baseUrl: server.url })).over
    expect(outcomes).toEqual(['end'])
    vi.advanceTimersByTime(900)
    await pause(20)
    expect(server.sockets[0]?.destroyed).toBe(false)
    vi.advanceTimersByTime(4000)
    await server.closed()
  })

  it('is closed when the server keeps sending after the terminal event', async () => {
    const server = await rawServer(({ socket }) => {
      socket.write(chunkedHead() + chunk('data: [DONE]\n\n'))
      const more = chunk('x'.repeat(100_000))
      const flood = (): void => void (socket.destroyed || socket.write(more, () => setImmediate(flood)))
      flood()
    })
    withoutTime()
    const { outcomes } = await received(echoModel({ baseUrl: server.url }))
    await server.closed()
    expect(outcomes).toEqual(['end'])
  })
})
