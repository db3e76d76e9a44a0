/**
 * Tools of MCP servers for agents, and agents as MCP servers.
 *
 * @module statewire/mcp
 */

export type { McpClient } from './client.ts'
export { connectMcp, type McpConnectOptions } from './connectMcp.ts'
export type { McpCommand, McpUrl } from './endpoint.ts'
export type { McpConnection } from './McpConnection.ts'
export { type McpHandler, type McpHandlerOptions, type McpServed, mcpHandler } from './mcpHandler.ts'
export { mcpTools } from './mcpTools.ts'
export type { AnswerQuestion, McpQuestion } from './Questions.ts'
export type { McpToolInfo } from './toolInfo.ts'
export type { McpToolOptions } from './toolOptions.ts'
