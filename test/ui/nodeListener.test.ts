/** Requests and responses of Node as those of the web platform: address, headers, bodies, and clients that leave. */
import { once } from 'node:events'
import { IncomingMessage, request, ServerResponse } from 'node:http'
import { connect, createServer } from 'node:http2'
import { type AddressInfo, Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Handler, nodeListener } from '../../src/ui/nodeListener.ts'
import { listen, serve } from './serve.ts'

type Given = Partial<IncomingMessage> & { originalUrl?: string; body?: unknown }

/** The request that a handler gets for one of Node, which stays open. */
const handed = async (given: Given = {}, isEncrypted = false) => {
  const socket = new Socket()
  if (isEncrypted) Object.assign(socket, { encrypted: true })
  const asked = Object.assign(new IncomingMessage(socket), { httpVersionMajor: 1, ...given })
  onTestFinished(() => void asked.destroy())
  const web = await new Promise<Request>((resolve) => {
    const handler: Handler = (each) => {
      resolve(each)
      return new Promise<Response>(() => {})
    }
    nodeListener(handler)(asked, new ServerResponse(asked))
  })
  return { asked, web }
}

describe('the address', () => {
  const host = ['Host', 'example.com:80']
  test.each<[string, Given, string]>([
    ['of the host', { url: '/a?b=1', rawHeaders: host }, 'http://example.com/a?b=1'],
    ['before routing', { url: '/b', originalUrl: '/a/b', rawHeaders: host }, 'http://example.com/a/b'],
    ['without a host', { url: '/a' }, 'http://localhost/a'],
    ['with a host that is not valid', { url: '/a', rawHeaders: ['host', 'a b'] }, 'http://localhost/a'],
  ])('%s', async (_, given, url) => {
    expect((await handed(given)).web.url).toBe(url)
  })

  test('is that of an encrypted connection, if it is one', async () => {
    expect((await handed({ url: '/a', rawHeaders: ['host', 'x.org'] }, true)).web.url).toBe('https://x.org/a')
  })

  test('may be missing', async () => {
    const { asked, web } = await handed({ url: undefined, method: undefined } as unknown as Given)
    expect(asked.method).toBeUndefined()
    expect([web.method, web.url]).toEqual(['GET', 'http://localhost/'])
  })
})

test('headers may come twice', async () => {
  const rawHeaders = ['X-One', 'a', 'x-two', 'b', 'x-one', 'c']
  const { web } = await handed({ url: '/', rawHeaders })
  expect([...web.headers]).toEqual([
    ['x-one', 'a, c'],
    ['x-two', 'b'],
  ])
})

describe('a body', () => {
  const post = { method: 'POST', url: '/' }
  test.each<[string, unknown, string]>([
    ['an object', { a: 1 }, '{"a":1}'],
    ['text', '{"a":1}', '{"a":1}'],
    ['bytes', Buffer.from('{"a":1}'), '{"a":1}'],
  ])('that a framework has read already: %s', async (_, body, text) => {
    expect(await (await handed({ ...post, body })).web.text()).toBe(text)
  })

  test.each(['GET', 'HEAD'])('does not come with %s', async (method) => {
    expect((await handed({ url: '/', method, body: 'x' })).web.body).toBe(null)
  })

  test.each([undefined, null])(
    'is read from the connection, also long after it has come (%s)',
    async (body) => {
      const { asked, web } = await handed({ ...post, body })
      asked.push('{"a"')
      asked.push(':1}')
      asked.push(null)
      await once(asked, 'close')
      expect(await web.text()).toBe('{"a":1}')
    },
  )

  test('is not taken from the connection faster than it is read', async () => {
    const { asked, web } = await handed(post)
    const most = 64 * 1024
    asked.push('x'.repeat(most - 1))
    await turn()
    expect(asked.isPaused()).toBe(false)
    asked.push('x')
    await turn()
    expect(asked.isPaused()).toBe(true)
    const reader = web.body?.getReader()
    expect((await reader?.read())?.value).toHaveLength(most - 1)
    await turn()
    expect(asked.isPaused()).toBe(false)
    await reader?.cancel()
    expect([asked.isPaused(), asked.listenerCount('data')]).toEqual([true, 0])
  })

  test.each([
    ['leaves', undefined, 'The client has left.'],
    ['breaks off', new Error('reset'), 'reset'],
  ])('whose client %s is an error', async (_, error, message) => {
    const { asked, web } = await handed(post)
    asked.push('{"a"')
    const read = web.text()
    asked.destroy(error)
    await expect(read).rejects.toThrow(message)
  })
})

describe('a response', () => {
  test('has its status, its headers, its cookies and its body', async () => {
    const headers = new Headers({ 'x-one': 'a' })
    headers.append('set-cookie', 'a=1')
    headers.append('set-cookie', 'b=2')
    const response = await fetch(await serve(() => new Response('Hello.', { status: 201, headers })))
    expect([response.status, response.headers.get('x-one'), await response.text()]).toEqual([
      201,
      'a',
      'Hello.',
    ])
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
  })

  test('may be empty, and have no cookies', async () => {
    const response = await fetch(await serve(() => new Response(null, { status: 204 })))
    expect([response.status, await response.text()]).toEqual([204, ''])
    expect(response.headers.has('set-cookie')).toBe(false)
  })

  test('that breaks off breaks off for the client', async () => {
    const body = () =>
      new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new Uint8Array([65])),
        pull: (controller) => controller.error(new Error('the key sk-12345 is wrong')),
      })
    const url = await serve(() => new Response(body()))
    await expect(fetch(url).then((response) => response.text())).rejects.toThrow()
  })

  test('for a client that has left is not read', async () => {
    const leave = new AbortController()
    const reasons: unknown[] = []
    const cancelled = new Promise<void>((resolve) => {
      void serve(async ({ signal }) => {
        leave.abort()
        if (!signal.aborted) await once(signal, 'abort')
        reasons.push(signal.reason)
        return new Response(new ReadableStream({ cancel: () => resolve() }))
      }).then((url) => fetch(url, { signal: leave.signal }).catch(() => {}))
    })
    await cancelled
    expect(reasons).toEqual(['the client has left'])
  })

  test('to a body that has not come whole ends the connection, and to a whole one does not', async () => {
    const { url } = await listen(nodeListener(() => new Response('No.', { status: 413 })))
    const half = request(url, { method: 'POST', headers: { 'transfer-encoding': 'chunked' } })
    half.on('error', () => {})
    half.write('x')
    const [refused] = (await once(half, 'response')) as [IncomingMessage]
    expect([refused.statusCode, refused.headers.connection]).toEqual([413, 'close'])
    refused.resume()
    await once(half, 'close')
    const whole = request(url)
    whole.end()
    const [answered] = (await once(whole, 'response')) as [IncomingMessage]
    expect(answered.headers.connection).toBe('keep-alive')
    answered.resume()
  })
})

describe('over HTTP/2', () => {
  const session = async (handler: Handler) => {
    const server = createServer(
      nodeListener(handler) as unknown as NonNullable<Parameters<typeof createServer>[1]>,
    )
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    const client = connect(`http://${host}`)
    onTestFinished(() => {
      client.destroy()
      server.close()
    })
    const ask = (path: string) => {
      const stream = client.request({ ':method': 'POST', ':path': path, 'x-one': 'b' })
      stream.on('error', () => {})
      stream.write('half')
      return stream
    }
    return { host, ask }
  }

  test('the address is that of the authority, and no header of HTTP/1 is written', async () => {
    const seen: unknown[] = []
    const { host, ask } = await session((each) => {
      seen.push(each.url, [...each.headers])
      return new Response('No.')
    })
    const refused = ask('/a')
    const [headers] = (await once(refused, 'response')) as [Record<string, unknown>]
    refused.resume()
    await once(refused, 'end')
    expect([headers[':status'], headers.connection]).toEqual([200, undefined])
    // The rest of the body was not read, and the server still answers.
    await once(ask('/b'), 'response')
    expect(seen.slice(0, 2)).toEqual([
      `http://${host}/a`,
      [
        ['host', host],
        ['x-one', 'b'],
      ],
    ])
  })
})
