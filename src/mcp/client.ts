import { ToolExecutionError } from '../messages/errors.ts'
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

/** What goes with a call; the same in both versions. */
export type CallOptions = {
  signal: AbortSignal
  /** By default the SDK stops waiting after a minute: the time is kept here instead. */
  timeout: number
  /** Without it the server is not asked for progress. */
  onprogress: (progress: unknown) => void
}

/** Version 1 takes a schema before the options. Version 2 is known by a method that version 1 does not have. */
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

/** No server needs more pages, and one that never comes to an end must not be followed for ever. */
const mostPages = 64

/** All that a server lists, unchecked. */
export const listAll = async (client: McpClient): Promise<unknown[]> => {
  const listed: unknown[] = []
  let cursor: string | undefined
  for (let page = 0; page < mostPages; page += 1) {
    const answer: unknown = await client.listTools(...(cursor === undefined ? [] : [{ cursor }]))
    if (!isJsonObject(answer) || !Array.isArray(answer.tools))
      throw new ToolExecutionError('The MCP server did not send a list of tools.')
    listed.push(...answer.tools)
    const { nextCursor } = answer
    if (typeof nextCursor !== 'string' || nextCursor === '' || nextCursor === cursor) return listed
    cursor = nextCursor
  }
  throw new ToolExecutionError(`The MCP server lists its tools on more than ${mostPages} pages.`)
}
