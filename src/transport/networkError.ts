import { ConfigurationError, type ErrorData, errorDataOf } from '../messages/errors.ts'
import { redact, redactError } from './redact.ts'

/** The body is compressed in a way that cannot be undone here. */
export class UnknownEncoding extends Error {
  readonly code = 'unknown_encoding'
  constructor(encoding: string) {
    super(`unknown content-encoding ${encoding}`)
  }
}

type Hint = { codes: RegExp; problem: string; retryable: boolean }

const hints: readonly Hint[] = [
  {
    codes: /^ECONNREFUSED$/,
    problem: 'nothing answers there. Check that the server runs and that baseUrl names its host and port.',
    retryable: true,
  },
  {
    codes: /^(ENOTFOUND|EAI_AGAIN|EAI_NODATA)$/,
    problem: 'the host name cannot be resolved. Check baseUrl and the network.',
    retryable: true,
  },
  {
    codes: /^(UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENETDOWN)$/,
    problem: 'no connection could be made. Check the network, firewalls and proxies.',
    retryable: true,
  },
  {
    codes: /CERT|SELF_SIGNED|UNABLE_TO|ALTNAME/,
    problem: 'its TLS certificate is not trusted. Check baseUrl, or the certificates this process trusts.',
    retryable: false,
  },
  {
    codes: /^(ERR_SSL|EPROTO|ERR_TLS)/,
    problem: 'it does not speak TLS as expected. Check whether baseUrl needs http or https.',
    retryable: false,
  },
  {
    codes: /^(HPE_|invalid_http|UND_ERR_HEADERS_OVERFLOW)/,
    problem: 'its answer is not valid HTTP. Check the port and whether baseUrl needs http or https.',
    retryable: true,
  },
  {
    codes: /^(Z_|ERR__ERROR_FORMAT|ERR_BROTLI|unknown_encoding)/,
    problem: 'its compressed answer cannot be read. A proxy compresses what was asked for as identity.',
    retryable: false,
  },
  {
    codes: /^(UND_ERR_INVALID_ARG|ERR_INVALID_CHAR)$/,
    problem: 'the request cannot be sent. Check the API key and headers for line breaks and odd characters.',
    retryable: false,
  },
  {
    codes: /^proxy_closed$/,
    problem: 'the proxy closed the connection. Check HTTP_PROXY, HTTPS_PROXY and NO_PROXY.',
    retryable: true,
  },
  {
    codes: /^invalid_proxy$/,
    problem:
      'the proxy cannot be used. Check the URLs in the environment variables HTTP_PROXY and HTTPS_PROXY.',
    retryable: false,
  },
  {
    codes: /^(UND_ERR_DESTROYED|UND_ERR_CLOSED)$/,
    problem: 'the dispatcher is closed.',
    retryable: false,
  },
]

/** A server that speaks TLS ends a connection without it. */
const brokenOffOn = ({ protocol }: URL, code: string): string => {
  const scheme = protocol === 'http:' && code === 'UND_ERR_SOCKET' ? ', and whether baseUrl needs https' : ''
  return `the connection broke off before the answer was complete. Check the network and proxies${scheme}.`
}

/** A failed connection as data. It names the host, never the path, the query or a header. */
export const networkError = (thrown: unknown, url: URL, secrets: readonly string[] = []): ErrorData => {
  // A user's own `fetch` knows best what is wrong with its setup.
  if (thrown instanceof ConfigurationError) return redactError(errorDataOf(thrown), secrets)
  const { name, message, code, refusedBy } = causeOf(thrown)
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  const hint = hints.find(({ codes }) => codes.test(code))
  const problem =
    refusedBy && `${refusedBy.port}` !== port
      ? `the proxy ${refusedBy.address}:${refusedBy.port} does not answer. Check HTTP_PROXY, HTTPS_PROXY and NO_PROXY.`
      : (hint?.problem ?? brokenOffOn(url, code))
  const host = `${url.hostname}:${port}`
  return {
    name: 'ModelError',
    message: `Request to ${host} failed (${code}): ${problem}`,
    code,
    retryable: hint?.retryable ?? true,
    cause: { name, message: redact(message, secrets), code },
  }
}

type Cause = {
  name: string
  message: string
  code: string
  /** The place that refused the connection, which may be a proxy. */
  refusedBy?: { address: string; port: number }
}

/** `fetch` and happy eyeballs hide the failure one level down, as a cause or as the first of several errors. */
export const causeOf = (thrown: unknown): Cause => {
  if (!(thrown instanceof Error)) return { name: 'Error', message: String(thrown), code: 'network_error' }
  const { code, cause, address, port } = thrown as Error &
    Partial<Record<'code' | 'address' | 'port', unknown>>
  const inner = thrown instanceof AggregateError ? thrown.errors[0] : cause
  if (inner instanceof Error && (typeof code !== 'string' || thrown.message === '')) return causeOf(inner)
  const fallback = thrown.name === 'HTTPParserError' ? 'invalid_http' : 'network_error'
  const isRefused = code === 'ECONNREFUSED' && typeof address === 'string' && typeof port === 'number'
  return {
    name: thrown.name,
    message: thrown.message,
    code: typeof code === 'string' ? code : fallback,
    ...(isRefused && { refusedBy: { address, port } }),
  }
}
