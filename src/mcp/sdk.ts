import { ConfigurationError, ToolExecutionError } from '../messages/errors.ts'
import { isJsonObject } from '../messages/json.ts'

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

/** The longest list of tools, in pages: a server that never ends its list must not be followed for ever. */
const mostPages = 64

/** The longest list of tools, in characters: more than any model reads. */
const longestList = 16 * 1024 * 1024

/** Lists all tools of a server, unchecked. */
export const listAll = async (client: McpClient): Promise<unknown[]> => {
  const listed: unknown[] = []
  let cursor: string | undefined
  let length = 0
  for (let page = 0; page < mostPages; page += 1) {
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
