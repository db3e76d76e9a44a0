import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { deadPort } from '../ports.ts'
import { echoModel, received } from './echoModel.ts'
import { type RawServer, rawServer, untilClose } from './rawServer.ts'

// The proxy that the environment names carries every request, but those to the hosts of NO_PROXY.

const done = `${untilClose()}data: a\n\ndata: [DONE]\n\n`

beforeEach(() => {
  for (const name of ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY', 'no_proxy', 'NO_PROXY'])
    vi.stubEnv(name, undefined)
})
afterEach(() => {
  vi.unstubAllEnvs()
})

/** Lets a tunnel through and answers in it itself. */
const proxy = (): Promise<RawServer> =>
  rawServer(({ socket, head }) => {
    if (head.startsWith('CONNECT')) socket.write('HTTP/1.1 200 OK\r\n\r\n')
    else socket.end(done)
  })

const askedFor = ({ requests }: RawServer): string[] =>
  requests.map(({ head }) => head.split(' HTTP')[0] ?? '')

describe('a proxy of the environment', () => {
  it.each(['HTTP_PROXY', 'http_proxy'])('named by %s carries the request', async (name) => {
    const server = await proxy()
    vi.stubEnv(name, server.url)
    const { text, outcomes } = await received(echoModel({ baseUrl: 'http://model.invalid/v1' }))
    expect({ text, outcomes }).toEqual({ text: 'a', outcomes: ['end'] })
    expect(askedFor(server)).toEqual(['CONNECT model.invalid:80', 'POST /v1/chat'])
  })

  it('named by HTTPS_PROXY carries requests over TLS, and no others', async () => {
    const [server, direct] = [
      await rawServer(({ socket }) => socket.end()),
      await rawServer(({ socket }) => socket.end(done)),
    ]
    vi.stubEnv('HTTPS_PROXY', server.url)
    const { error, outcomes } = await received(echoModel({ baseUrl: 'https://model.invalid/v1' }))
    expect(outcomes).toEqual(['fail'])
    expect(error).toMatchObject({ code: 'proxy_closed', retryable: true })
    expect(askedFor(server)).toEqual(['CONNECT model.invalid:443'])
    expect((await received(echoModel({ baseUrl: direct.url }))).text).toBe('a')
    expect(server.requests).toHaveLength(1)
  })

  it('is passed by where NO_PROXY says so', async () => {
    const [server, direct] = [await proxy(), await rawServer(({ socket }) => socket.end(done))]
    vi.stubEnv('HTTP_PROXY', server.url)
    vi.stubEnv('NO_PROXY', 'example.com,127.0.0.1')
    expect((await received(echoModel({ baseUrl: direct.url }))).text).toBe('a')
    expect(direct.requests).toHaveLength(1)
    expect(server.requests).toEqual([])
  })

  it('is another one as soon as the environment says so, and none when it says nothing any more', async () => {
    const [first, second, direct] = [
      await proxy(),
      await proxy(),
      await rawServer(({ socket }) => socket.end(done)),
    ]
    for (const { url } of [first, second]) {
      vi.stubEnv('HTTP_PROXY', url)
      expect((await received(echoModel({ baseUrl: 'http://model.invalid' }))).text).toBe('a')
    }
    vi.stubEnv('HTTP_PROXY', undefined)
    expect((await received(echoModel({ baseUrl: direct.url }))).text).toBe('a')
    expect([first, second, direct].map(({ requests }) => requests.length)).toEqual([2, 2, 1])
  })

  it('gets its own user and password, and never the model’s key outside the tunnel', async () => {
    const server = await proxy()
    vi.stubEnv('HTTP_PROXY', server.url.replace('//', '//ann:pass%20word@'))
    await received(echoModel({ baseUrl: 'http://model.invalid', apiKey: 'the-key' }))
    const [connect, request] = server.requests
    const pair = Buffer.from('ann:pass word').toString('base64')
    expect(connect?.head).toMatch(new RegExp(`^proxy-authorization: Basic ${pair}$`, 'im'))
    expect(connect?.head).not.toContain('the-key')
    expect(request?.head).toContain('the-key')
  })

  it.each(['not a url', 'ftp://proxy.example', 'http://ann:sec%ret-1234@proxy'])(
    'that is %j is a clear error, which does not repeat it',
    async (value) => {
      vi.stubEnv('HTTP_PROXY', value)
      const { error, outcomes } = await received(echoModel({ baseUrl: 'http://127.0.0.1:1' }))
      expect(outcomes).toEqual(['fail'])
      expect(error).toMatchObject({ code: 'invalid_proxy', retryable: false })
      expect(error?.message).toContain('HTTP_PROXY')
      expect(JSON.stringify(error)).not.toContain(value)
    },
  )

  it('that does not answer is a network error, to be tried again', async () => {
    vi.stubEnv('HTTP_PROXY', `http://127.0.0.1:${await deadPort()}`)
    const { error } = await received(echoModel({ baseUrl: 'http://model.invalid' }))
    expect(error).toMatchObject({ code: 'ECONNREFUSED', retryable: true })
  })

  it('gives way to a fetch or a dispatcher of the user', async () => {
    const [server, direct] = [await proxy(), await rawServer(({ socket }) => socket.end(done))]
    vi.stubEnv('HTTP_PROXY', server.url)
    const { Agent } = await import('undici')
    const dispatcher = new Agent()
    for (const carrier of [{ fetch }, { dispatcher }])
      expect((await received(echoModel({ baseUrl: direct.url, ...carrier }))).text).toBe('a')
    expect(server.requests).toEqual([])
    await dispatcher.destroy()
  })
})
