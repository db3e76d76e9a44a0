import { ConfigurationError } from '../messages/errors.ts'
import { amount, checkOptions, flag, type Rules, text } from '../messages/optionRules.ts'
import { commandRules, isUrl, type McpCommand, type McpUrl, urlRules } from './endpoint.ts'
import { loadClient } from './loadSdk.ts'
import { McpConnection } from './McpConnection.ts'
import type { AnswerQuestion } from './Questions.ts'
import { type McpToolOptions, toolOptionRules } from './toolOptions.ts'

type ConnectionSettings = {
  /** The name of this client for the server. Default: `statewire`. */
  name?: string
  /** How long it may take to connect. Default: 1 minute. */
  connectTimeoutMs?: number
  /**
   * Whether the server may ask the person something while a tool runs. `true`: the run then waits for an answer, as for
   * an external tool (`tool.external`, `run.answer`). A function asks by itself. Default: `false`.
   */
  elicitation?: boolean | AnswerQuestion
}

/**
 * A server, and how its tools are offered.
 *
 * @example
 * const options: McpConnectOptions = { url: 'https://example.com/mcp', headers: { authorization }, prefix: 'docs_' }
 */
export type McpConnectOptions = (McpUrl | McpCommand) & ConnectionSettings & McpToolOptions

const settingRules: Rules<ConnectionSettings> = {
  name: text,
  connectTimeoutMs: amount,
  elicitation: (name, value) => (typeof value === 'function' ? undefined : flag(name, value)),
}

/**
 * Connects to an MCP server: to a URL, or to a command that is started. Needs the package
 * `@modelcontextprotocol/client`. If you pass the connection itself to an agent, changes of its tools apply from the
 * next step of a run. The next call reopens a lost connection.
 *
 * @example
 * const files = await connectMcp({ command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '.'] })
 * const agent = new Agent('openai:gpt-6-luna', { tools: [weather, files] })
 * await files.close()
 */
export const connectMcp = async (options: McpConnectOptions): Promise<McpConnection> => {
  checkOptions('The options of connectMcp', options, { ...settingRules, ...toolOptionRules })
  if ('url' in options === 'command' in options)
    throw new ConfigurationError('connectMcp needs a url or a command, and not both.')
  if (isUrl(options)) checkOptions('The options of connectMcp', options, urlRules)
  else checkOptions('The options of connectMcp', options, commandRules)
  return await McpConnection.open(await loadClient(), options)
}
