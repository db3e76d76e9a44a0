import type { StreamableHTTPClientTransportOptions, Transport } from '@modelcontextprotocol/client'
import { callable, listOf, object, oneOf, orWrite, type Rules, rule, text } from '../messages/optionRules.ts'
import type { ClientSdk } from './sdk.ts'

/**
 * A server on the web.
 *
 * @example await connectMcp({ url: 'https://example.com/mcp', headers: { authorization: `Bearer ${token}` } })
 */
export type McpUrl = {
  url: string | URL
  /** Headers of every request. They are sent to this server only, and never shown. */
  headers?: Readonly<Record<string, string>>
  /** Gives tokens, or signs in: an `AuthProvider` or `OAuthClientProvider` of the SDK. */
  authProvider?: NonNullable<StreamableHTTPClientTransportOptions['authProvider']>
  fetch?: typeof fetch
  /** The transport. Default: `http`, or `sse` for older servers, if `http` does not work. */
  transport?: 'http' | 'sse'
}

/**
 * A server that is started as a child process.
 *
 * @example await connectMcp({ command: 'node', args: ['server.js'], env: { DATABASE: 'notes.db' } })
 */
export type McpCommand = {
  command: string
  args?: readonly string[]
  /** Variables for the server. From the environment of this process it gets only a few harmless ones, such as PATH. */
  env?: Readonly<Record<string, string>>
  cwd?: string
  /** Shows or hides the server's standard error. Default: `ignore`. */
  stderr?: 'inherit' | 'ignore'
}

export type McpEndpoint = McpUrl | McpCommand

export type Wire = 'stdio' | 'http' | 'sse'

const strings = rule(
  'an object of strings',
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((each) => typeof each === 'string'),
)

export const urlRules: Rules<McpUrl> = {
  url: orWrite(
    rule(
      'an http or https URL',
      (value) => URL.canParse(String(value)) && /^https?:$/.test(new URL(String(value)).protocol),
    ),
    () => "url: 'http://localhost:3000/mcp'",
  ),
  headers: strings,
  authProvider: object,
  fetch: callable,
  transport: oneOf('http', 'sse'),
}

export const commandRules: Rules<McpCommand> = {
  command: (name, value) => {
    const [program = '', ...args] = typeof value === 'string' ? value.split(' ') : []
    if (args.length === 0 || /[\\/]/.test(program)) return text(name, value)
    return `${name} is a program alone: write command: '${program}', args: [${args.map((each) => `'${each}'`).join(', ')}].`
  },
  args: listOf(text),
  env: strings,
  cwd: text,
  stderr: oneOf('inherit', 'ignore'),
}

export const isUrl = (endpoint: McpEndpoint): endpoint is McpUrl => 'url' in endpoint

/** The transports to try, in this order. */
export const wiresOf = (endpoint: McpEndpoint): Wire[] => {
  if (!isUrl(endpoint)) return ['stdio']
  return endpoint.transport ? [endpoint.transport] : ['http', 'sse']
}

/** An endpoint as errors show it: without a query, which may hold a key, and without arguments. */
export const shownEndpoint = (endpoint: McpEndpoint): string => {
  if (!isUrl(endpoint)) return `"${endpoint.command}"`
  const { origin, pathname } = new URL(endpoint.url)
  return origin + pathname
}

/** Values that errors must never show. */
export const secretsOf = (endpoint: McpEndpoint): string[] => {
  if (!isUrl(endpoint)) return Object.values(endpoint.env ?? {})
  const { username, password, searchParams } = new URL(endpoint.url)
  return [...Object.values(endpoint.headers ?? {}), username, password, ...searchParams.values()]
}

/** Makes a connection, which is not yet open. */
export const transportFor = (sdk: ClientSdk, endpoint: McpEndpoint, wire: Wire): Transport => {
  if (!isUrl(endpoint)) {
    const { command, args = [], env = {}, cwd, stderr = 'ignore' } = endpoint
    return new sdk.StdioClientTransport({
      command,
      args: [...args],
      env: { ...env },
      stderr,
      ...(cwd !== undefined && { cwd }),
    })
  }
  const { url, headers = {}, authProvider, fetch: own } = endpoint
  const options = {
    requestInit: { headers: { ...headers } },
    fetch: carefulFetch(own ?? fetch),
    ...(authProvider && { authProvider }),
  }
  return wire === 'sse'
    ? new sdk.SSEClientTransport(new URL(url), options)
    : new sdk.StreamableHTTPClientTransport(new URL(url), options)
}

/** The largest answer, in bytes: more than any provider takes. */
const largestAnswer = 64 * 1024 * 1024

/**
 * Refuses redirects, which would take the headers along, and limits answers. The stream of an open connection (GET) grows
 * while the connection is open, so each of its events is limited instead: the SDK keeps the lines of an event until it ends.
 */
const carefulFetch =
  (inner: typeof fetch) =>
  async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const response = await inner(url, { ...init, redirect: 'error' })
    if (!response.body) return response
    const isOpen = init?.method !== 'POST'
    let size = 0
    let isLineEmpty = true
    const limit = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        size += chunk.byteLength
        if (isOpen)
          for (let at = 0; at < chunk.byteLength; at += 1) {
            // An empty line ends an event.
            if (chunk[at] === lineFeed && isLineEmpty) size = chunk.byteLength - at - 1
            if (chunk[at] === lineFeed) isLineEmpty = true
            else if (chunk[at] !== carriageReturn) isLineEmpty = false
          }
        if (size > largestAnswer)
          controller.error(new Error(`The MCP server sent more than ${largestAnswer} bytes.`))
        else controller.enqueue(chunk)
      },
    })
    const { status, statusText, headers } = response
    return new Response(response.body.pipeThrough(limit), { status, statusText, headers })
  }

const lineFeed = 0x0a
const carriageReturn = 0x0d
