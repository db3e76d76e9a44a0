import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { echoModel, listen, received } from './echoModel.ts'
import { pause, rawServer } from './rawServer.ts'

const apiKey = 'very-secret-key'

/** The error of a model when the server answers so. */
const refusal = async (status: string, body = '', headers: string[] = []) => {
  const fields = [...headers, `content-length: ${Buffer.byteLength(body)}`].join('\r\n')
  const server = await rawServer(({ socket }) =>
    socket.write(`HTTP/1.1 ${status}\r\n${fields}\r\n\r\n${body}`),
  )
  const { error, outcomes } = await received(echoModel({ baseUrl: server.url, apiKey }))
  expect(outcomes).toEqual(['fail'])
  expect(JSON.stringify(error)).not.toContain(apiKey)
  return error
}

describe('an HTTP error', () => {
  it('carries the provider’s message, code, ids and wait', async () => {
    const body = '{"error":{"message":"slow down","code":"rate_limit","request_id":"req_1","wait":9000}}'
    expect(await refusal('429 Too Many Requests', body, ['retry-after: 1.5', 'x-request-id: other'])).toEqual(
      {
        name: 'ModelError',
        message: expect.stringMatching(/^slow down \(acme:echo-1 at 127\.0\.0\.1:\d+\/chat, HTTP 429\)$/),
        provider: 'acme',
        model: 'echo-1',
        status: 429,
        code: 'rate_limit',
        requestId: 'req_1',
        retryable: true,
        retryAfterMs: 1500,
      },
    )
    expect(await refusal('429 X', body)).toMatchObject({ retryAfterMs: 9000 })
  })

  it.each(['x-request-id', 'request-id', 'x-goog-request-id', 'cf-ray'])(
    'takes the request id from %s',
    async (name) =>
      expect(await refusal('400 Bad', '{}', [`${name}: id-7`])).toMatchObject({ requestId: 'id-7' }),
  )

  it.each([
    [400, false],
    [404, false],
    [408, true],
    [409, true],
    [422, false],
    [429, true],
    [500, true],
    [503, true],
    [529, true],
  ])('with status %i may be retried: %s', async (status, retryable) =>
    expect(await refusal(`${status} X`)).toMatchObject({ status, retryable }),
  )

  it('follows the server’s word on retrying', async () => {
    expect(await refusal('500 X', '', ['x-should-retry: false'])).toMatchObject({ retryable: false })
    expect(await refusal('400 X', '', ['x-should-retry: true'])).toMatchObject({ retryable: true })
  })

  it('shows the text of a page without its markup', async () => {
    const page = `<html><style>b{color:red}</style><script>alert(1)</script><h1>502 Bad\n Gateway</h1>${'y '.repeat(500)}`
    const { message } = (await refusal('502 Bad Gateway', page)) ?? { message: '' }
    expect(message).toMatch(/^HTTP 502 Bad Gateway: 502 Bad Gateway y y/)
    expect(message.length).toBeLessThan(400)
  })

  it('falls back on the status when there is no body', async () => {
    expect(await refusal('503 Service Unavailable')).toMatchObject({
      message: expect.stringMatching(
        /^HTTP 503 Service Unavailable \(acme:echo-1 at 127\.0\.0\.1:\d+\/chat\)$/,
      ),
    })
  })

  it('unwraps an error in an array', async () => {
    expect(await refusal('429 X', '[{"error":{"message":"quota"}}]')).toMatchObject({
      message: expect.stringMatching(/^quota \(/),
    })
  })

  it('hints at the key for 401 and 403, and shows none', async () => {
    const body = `{"error":"Incorrect API key provided: ${apiKey}. Authorization was Bearer ${apiKey}, or sk-proj-abcdefgh1234"}`
    const error = await refusal('401 Unauthorized', body)
    expect(error?.message).toMatch(
      /^Incorrect API key provided: \*\*\*\. Authorization was Bearer \*\*\*, or \*\*\* \(acme:.*, HTTP 401\. Check the API key of acme\.\)$/,
    )
    expect((await refusal('403 Forbidden', ''))?.message).toContain('API key of acme')
  })

  it('redacts a key at the place where the text is cut', async () => {
    const text = `${'z'.repeat(295)} ${apiKey} tail`
    expect((await refusal('500 X', text))?.message).not.toMatch(/very/)
  })

  it('is reported with what came when its body is endless, breaks off or is too large', async () => {
    const answers: Record<string, string> = {
      large: `HTTP/1.1 500 X\r\ncontent-length: 999999\r\n\r\n${'e'.repeat(100_000)}`,
      broken: 'HTTP/1.1 500 X\r\ncontent-length: 999999\r\n\r\neee',
    }
    for (const [kind, answer] of Object.entries(answers)) {
      const server = await rawServer(async ({ socket }) => {
        socket.write(answer)
        await pause(5)
        if (kind === 'broken') socket.resetAndDestroy()
      })
      const { error } = await received(echoModel({ baseUrl: server.url }))
      expect(error).toMatchObject({ status: 500, message: expect.stringContaining('eee') })
      await server.closed()
    }
  })

  it('is reported after a while when its body stalls', async () => {
    const server = await rawServer(({ socket }) =>
      socket.write('HTTP/1.1 429 X\r\ncontent-length: 99\r\nretry-after: 3\r\n\r\nwait'),
    )
    const { error } = await listen(echoModel({ baseUrl: server.url })).over
    expect(error).toMatchObject({
      status: 429,
      retryAfterMs: 3000,
      message: expect.stringMatching(/^HTTP 429 X: wait \(/),
    })
    await server.closed()
  })
})

describe('the usual cause', () => {
  it('of 404 is a missing /v1', async () => {
    expect((await refusal('404 Not Found'))?.message).toMatch(
      /^HTTP 404 Not Found \(acme:echo-1 at 127\.0\.0\.1:\d+\/chat\. Is \/v1 missing from baseUrl\?\)$/,
    )
  })

  it('of 404 is a misspelled model', async () => {
    const body = '{"error":{"message":"No such model"}}'
    const server = await rawServer(({ socket }) =>
      socket.write(`HTTP/1.1 404 X\r\ncontent-length: ${body.length}\r\n\r\n${body}`),
    )
    const at = { baseUrl: `${server.url}/v1`, apiKey }
    await expect(new Agent('openai-chat:gpt-6-lnua', at).send('Hi')).rejects.toMatchObject({
      message: expect.stringMatching(
        /^No such model \(openai-chat:gpt-6-lnua at .*\/v1\/chat\/completions, HTTP 404\. Did you mean openai-chat:gpt-6-luna\?\)$/,
      ),
      model: 'gpt-6-lnua',
    })
    await expect(new Agent('openai-chat:house-model', at).send('Hi')).rejects.toThrow(
      'Check the name of the model and baseUrl.',
    )
  })

  it('of 402 is an empty account', async () => {
    expect((await refusal('402 Payment Required'))?.message).toContain('The account has no credit left.')
  })

  it('has no key that is part of the path', async () => {
    const server = await rawServer(({ socket }) =>
      socket.write('HTTP/1.1 500 X\r\ncontent-length: 0\r\n\r\n'),
    )
    const { error } = await received(echoModel({ baseUrl: `${server.url}/${apiKey}`, apiKey }))
    expect(error?.message).toContain('/***/')
    expect(error?.message).not.toContain(apiKey)
  })
})

describe('a redirect', () => {
  it('is not followed, so the key stays with its host', async () => {
    const other = await rawServer(({ socket }) => socket.end('HTTP/1.1 200 OK\r\n\r\n'))
    const error = await refusal('307 Temporary Redirect', '', [
      `location: ${other.url}/v2/chat?token=abc123secret`,
    ])
    await pause(20)
    expect(other.sockets).toHaveLength(0)
    expect(error).toMatchObject({ status: 307, retryable: false })
    expect(error?.message).toContain(`to ${other.url}/v2/chat.`)
    expect(error?.message).not.toContain('abc123secret')
  })

  it('is named without its query when it is relative, too', async () => {
    const error = await refusal('301 Moved', '', ['location: /login?next=abc123secret'])
    expect(error?.message).toContain('to /login.')
  })
})
