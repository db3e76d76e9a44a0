import { z } from 'zod'
import { ConfigurationError, ToolExecutionError } from '../messages/errors.ts'
import { isJsonObject, type JsonObject } from '../messages/json.ts'
import { within } from '../transport/onAbort.ts'

/**
 * A connected client of the TypeScript SDK, version 1 (`@modelcontextprotocol/sdk`) or 2 (`@modelcontextprotocol/client`):
 * the part of it that is used here.
 *
 * @example
 * const client = new Client({ name: 'my-app', version: '1.0.0' })
 * await client.connect(transport)
 * const tools = await mcpTools(client)
 */
export type McpClient = {
  listTools(params?: { cursor?: string }, options?: never): Promise<object>
  callTool(
    params: { name: string; arguments?: Record<string, unknown> },
    second?: never,
    third?: never,
  ): Promise<object>
  /** Reads the app of a tool. Without it, results have only the apps that the server sends with them. */
  readResource?(params: { uri: string }): Promise<object>
  /** Sends any request. Without it, tools that only run as tasks are not offered. */
  request?(request: { method: string; params: JsonObject }, schema: never, options: never): Promise<object>
  /** The capabilities of the server: whether its tools can run as tasks. */
  getServerCapabilities?(): unknown
}

/** Options of a call, which are the same in both versions. */
export type CallOptions = {
  signal: AbortSignal
  /** The time limit of the SDK, which is a minute by default. `CallTimer` limits the time instead. */
  timeout: number
  /** Asks the server for progress. */
  onprogress: (progress: unknown) => void
}

/** Calls a tool. Version 1 takes a schema before the options; version 2 has a method that version 1 does not have. */
export const sendCall = (
  client: McpClient,
  name: string,
  args: Record<string, unknown>,
  options: CallOptions,
): Promise<unknown> => {
  const params = { name, arguments: args }
  const rest = 'getProtocolEra' in client ? [params, options] : [params, undefined, options]
  return Promise.resolve(Reflect.apply(client.callTool, client, rest))
}

/** Sends a request, with a time limit, that neither version has a method for. The answer is not checked. */
export const sendRequest = (
  client: McpClient,
  method: string,
  params: JsonObject,
  timeout: number,
): Promise<unknown> => {
  if (!client.request) throw new ToolExecutionError('The MCP client cannot send requests of other methods.')
  return Promise.resolve(Reflect.apply(client.request, client, [{ method, params }, anyAnswer, { timeout }]))
}

const anyAnswer = z.looseObject({})

/** Says whether calls of the server's tools can be tasks of the server, and this client can follow them. */
export const canRunTasks = (client: McpClient): boolean => {
  const { tasks }: { tasks?: unknown } = Object(client.getServerCapabilities?.())
  const { tools }: { tools?: unknown } = Object(Object(tasks).requests)
  return client.request !== undefined && isJsonObject(Object(tools).call)
}

/** The longest app, in characters. */
const longestApp = 2 * 1024 * 1024

/** Reads an app as the content of a result; undefined if the server has none that can be used. */
export const readApp = async (client: McpClient, uri: string): Promise<JsonObject | undefined> => {
  const answer: unknown = await client.readResource?.({ uri })
  const contents: unknown = Object(answer).contents
  const resource = Array.isArray(contents) ? contents.find((each) => Object(each).uri === uri) : undefined
  const { text, mimeType = 'text/html' } = Object(resource)
  if (typeof text !== 'string' || text.length > longestApp) return undefined
  return { type: 'resource', resource: { uri, text, mimeType: String(mimeType) } }
}

/** The longest list of tools, in pages: a server that never ends its list must not be followed for ever. */
const mostPages = 64

/** The longest list of tools, in characters: as much as a million tokens, more than any model reads. */
const longestList = 4 * 1024 * 1024

/** The longest time for a whole list: each of its pages has its own limit, too. */
const longestListMs = 60_000

/** Lists all tools of a server, unchecked. */
export const listAll = (client: McpClient, ms = longestListMs): Promise<unknown[]> => {
  const end = new AbortController()
  const timeout = () => {
    end.abort()
    return new ToolExecutionError(`The MCP server did not list its tools within ${ms} ms.`)
  }
  return within(pagesOf(client, end.signal), { ms, timeout })
}

const pagesOf = async (client: McpClient, end: AbortSignal): Promise<unknown[]> => {
  const listed: unknown[] = []
  let cursor: string | undefined
  let length = 0
  for (let page = 0; page < mostPages && !end.aborted; page += 1) {
    const answer: unknown = await client.listTools(...(cursor === undefined ? [] : [{ cursor }]))
    if (!isJsonObject(answer) || !Array.isArray(answer.tools))
      throw new ToolExecutionError('The MCP server did not send a list of tools.')
    length += answer.tools.reduce((sum: number, each) => sum + lengthOf(each), 0)
    if (length > longestList)
      throw new ToolExecutionError(`The list of the MCP server has more than ${longestList} characters.`)
    for (const each of answer.tools) listed.push(each)
    const { nextCursor } = answer
    if (typeof nextCursor !== 'string' || nextCursor === '' || nextCursor === cursor) return listed
    cursor = nextCursor
  }
  throw new ToolExecutionError(`The MCP server lists its tools on more than ${mostPages} pages.`)
}

/** The characters of an entry. One that nests too deeply to be measured is skipped later; a list may hold a few. */
const lengthOf = (entry: unknown): number => {
  try {
    return JSON.stringify(entry).length
  } catch {
    return longestList / 8
  }
}

/** The client of the SDK, and its transports. */
export type ClientSdk = typeof import('@modelcontextprotocol/client') &
  Pick<typeof import('@modelcontextprotocol/client/stdio'), 'StdioClientTransport'>

export type ServerSdk = typeof import('@modelcontextprotocol/server')

/** Loads the client, which is an optional peer dependency. */
export const loadClient = (): Promise<ClientSdk> =>
  loaded('@modelcontextprotocol/client', 'to connect to MCP servers', async () => {
    const [client, { StdioClientTransport }] = await Promise.all([
      import(/* webpackIgnore: true */ '@modelcontextprotocol/client'),
      import(/* webpackIgnore: true */ '@modelcontextprotocol/client/stdio'),
    ])
    return { ...client, StdioClientTransport }
  })

/** Loads the server, which is an optional peer dependency. */
export const loadServer = (): Promise<ServerSdk> =>
  loaded(
    '@modelcontextprotocol/server',
    'to serve agents over MCP',
    () => import(/* webpackIgnore: true */ '@modelcontextprotocol/server'),
  )

const loaded = async <T>(name: string, why: string, load: () => Promise<T>): Promise<T> => {
  try {
    return await load()
  } catch (cause) {
    throw new ConfigurationError(`The package ${name} is needed ${why}: npm install ${name}.`, { cause })
  }
}
