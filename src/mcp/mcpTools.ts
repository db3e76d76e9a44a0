import { checkOptions, checkValue, having } from '../messages/optionRules.ts'
import type { Tool } from '../tools/tool.ts'
import { listAll, type McpClient, sendCall } from './client.ts'
import { ToolList } from './ToolList.ts'
import { type McpToolOptions, toolOptionRules } from './toolOptions.ts'

/**
 * The tools of an MCP server, for any connected client of the TypeScript SDK, version 1 or 2. They are those that the
 * server lists now; the connection stays yours. {@link connectMcp} makes one that follows changes and renews itself.
 *
 * @example
 * const tools = await mcpTools(client, { prefix: 'files_', include: ['read_file', 'write_file'] })
 * const agent = new Agent('openai:gpt-6-luna', { tools })
 */
export const mcpTools = async (client: McpClient, options: McpToolOptions = {}): Promise<Tool[]> => {
  checkValue('The client of mcpTools', client, having('listTools', 'callTool'))
  checkOptions('The options of mcpTools', options, toolOptionRules)
  const list = new ToolList(options, (name, args, callOptions) => sendCall(client, name, args, callOptions))
  list.take(await listAll(client))
  list.mustInclude()
  return [...list.tools]
}
