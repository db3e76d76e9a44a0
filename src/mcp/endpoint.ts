import type { StreamableHTTPClientTransportOptions, Transport } from '@modelcontextprotocol/client'
import { callable, listOf, object, oneOf, type Rules, rule, text } from '../messages/optionRules.ts'
import type { ClientSdk } from './loadSdk.ts'

/**
 * A server on the web.
 *
 * @example await connectMcp({ url: 'https://example.com/mcp', headers: { authorization: `Bearer ${token}` } })
 */
export type McpUrl = {
  url: string | URL
  /** With every request. They are sent to this server only, and never shown. */
  headers?: Readonly<Record<string, string>>
  /** Gives tokens, or signs in: an `AuthProvider` or `OAuthClientProvider` of the SDK. */
  authProvider?: NonNullable<StreamableHTTPClientTransportOptions['authProvider']>
  fetch?: typeof fetch
  /** How to speak to it. By default `http`, and `sse`, which older servers speak, where that does not work. */
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
  /** Beside a few harmless variables, such as PATH: nothing else of this process's environment is passed on. */
  env?: Readonly<Record<string, string>>
  cwd?: string
  /** What happens to the server's standard error. Default: `ignore`. */
  stderr?: 'inherit' | 'ignore'
}

export type McpEndpoint = McpUrl | McpCommand

export type Wire = 'stdio' | 'http' | 'sse'

const texts = rule(
  'an object of strings',
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((each) => typeof each === 'string'),
)

export const urlRules: Rules<McpUrl> = {
  url: rule(
    'an http or https URL',
    (value) => URL.canParse(String(value)) && /^https?:$/.test(new URL(String(value)).protocol),
  ),
  headers: texts,
  authProvider: object,
  fetch: callable,
  transport: oneOf('http', 'sse'),
}

export const commandRules: Rules<McpCommand> = {
  command: text,
  args: listOf(text),
  env: texts,
  cwd: text,
  stderr: oneOf('inherit', 'ignore'),
}

export const isUrl = (endpoint: McpEndpoint): endpoint is McpUrl => 'url' in endpoint

/** The ways to try, in their order. */
export const wiresOf = (endpoint: McpEndpoint): Wire[] => {
  if (!isUrl(endpoint)) return ['stdio']
  return endpoint.transport ? [endpoint.transport] : ['http', 'sse']
}

/** For messages: without a query, which may hold a key, and without arguments. */
export const shownEndpoint = (endpoint: McpEndpoint): string => {
  if (!isUrl(endpoint)) return `"${endpoint.command}"`
  const { origin, pathname } = new URL(endpoint.url)
  return origin + pathname
}

/** What must never be shown. */
export const secretsOf = (endpoint: McpEndpoint): string[] => {
  if (!isUrl(endpoint)) return Object.values(endpoint.env ?? {})
  const { username, password, searchParams } = new URL(endpoint.url)
  return [...Object.values(endpoint.headers ?? {}), username, password, ...searchParams.values()]
}

/** A new connection, not yet open. */
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

/** More than any provider takes of a result. */
const largestAnswer = 64 * 1024 * 1024

/**
 * Follows no redirect, which would take the headers along. Answers to calls are limited; the stream of an open
 * connection (GET) is not: it grows for the life of the connection.
 */
const carefulFetch =
  (inner: typeof fetch) =>
  async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const response = await inner(url, { ...init, redirect: 'error' })
    if (init?.method !== 'POST' || !response.body) return response
    let left = largestAnswer
    const limit = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        left -= chunk.byteLength
        if (left < 0) controller.error(new Error(`The MCP server sent more than ${largestAnswer} bytes.`))
        else controller.enqueue(chunk)
      },
    })
    const { status, statusText, headers } = response
    return new Response(response.body.pipeThrough(limit), { status, statusText, headers })
  }
