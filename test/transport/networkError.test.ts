import { describe, expect, it } from 'vitest'
import { ConfigurationError } from '../../src/index.ts'
import { networkError } from '../../src/transport/networkError.ts'

const url = new URL('https://user:pass@api.test/v1/chat?key=abcd')
const failing = (code: string, message = 'it failed') => Object.assign(new Error(message), { code })

describe('a network error as data', () => {
  it('names host and port only, and keeps the cause', () => {
    expect(networkError(failing('ECONNRESET', 'read ECONNRESET'), url)).toEqual({
      name: 'ModelError',
      message:
        'Request to api.test:443 failed (ECONNRESET): the connection broke off before the answer was complete. Check the network and proxies.',
      code: 'ECONNRESET',
      retryable: true,
      cause: { name: 'Error', message: 'read ECONNRESET', code: 'ECONNRESET' },
    })
  })

  it('passes on what a fetch says of its own setup, without secrets', () => {
    const thrown = new ConfigurationError('There is no tape for key my-secret-key.')
    expect(networkError(thrown, url, ['my-secret-key'])).toEqual({
      name: 'ConfigurationError',
      message: 'There is no tape for key ***.',
    })
  })

  it('looks through what fetch and happy eyeballs wrap around it', () => {
    const refused = failing('ECONNREFUSED', 'connect ECONNREFUSED ::1:80')
    const tried = Object.assign(new AggregateError([refused, refused], ''), { code: 'ECONNREFUSED' })
    const wrapped = new TypeError('fetch failed', { cause: tried })
    for (const thrown of [refused, tried, wrapped]) {
      expect(networkError(thrown, url).cause).toEqual({
        name: 'Error',
        message: 'connect ECONNREFUSED ::1:80',
        code: 'ECONNREFUSED',
      })
    }
  })

  it.each([
    ['ENOTFOUND', true],
    ['UND_ERR_CONNECT_TIMEOUT', true],
    ['UND_ERR_SOCKET', true],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', false],
    ['ERR_TLS_CERT_ALTNAME_INVALID', false],
    ['ERR_SSL_WRONG_VERSION_NUMBER', false],
    ['UND_ERR_INVALID_ARG', false],
  ])('with %s may be retried: %s', (code, retryable) =>
    expect(networkError(failing(code), url)).toMatchObject({ code, retryable }),
  )

  it('survives anything that is thrown, and redacts it', () => {
    expect(networkError('plain my-secret', url, ['my-secret'])).toMatchObject({
      code: 'network_error',
      cause: { message: 'plain ***' },
    })
    expect(networkError(undefined, url)).toMatchObject({ code: 'network_error', retryable: true })
  })
})
