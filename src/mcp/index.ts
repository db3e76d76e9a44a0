/**
 * Tools of MCP servers for agents, and agents as MCP servers.
 *
 * @module statewire/mcp
 */

export type { WaitingStore } from './ClientQuestions.ts'
export { connectMcp, type McpConnection, type McpConnectOptions } from './connectMcp.ts'
export type { McpCommand, McpUrl } from './endpoint.ts'
export { type McpHandler, type McpHandlerOptions, type McpServed, mcpHandler } from './mcpHandler.ts'
export type { AnswerQuestion, McpQuestion } from './Questions.ts'
export type { McpClient } from './sdk.ts'
export { mcpTools } from './ToolList.ts'
export type { McpToolInfo, McpToolOptions } from './toolOptions.ts'
