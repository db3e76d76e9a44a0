import { describeThrown } from '../messages/errors.ts'
import type { ToolSource } from '../tools/tool.ts'
import { type Invocation, listOption } from './command.ts'
import { UsageError } from './exit.ts'
import { shellWords } from './shellWords.ts'

/** The servers of `--mcp`: connected together, closed together. */
export type McpServers = { tools: readonly ToolSource[]; close: () => Promise<void> }

/** Each `--mcp` is a URL, or a command to start. If one of them fails, none stays open. */
export const openServers = async (invocation: Invocation): Promise<McpServers> => {
  const wanted = listOption(invocation, 'mcp').map(endpointOf)
  if (wanted.length === 0) return { tools: [], close: async () => {} }
  const { connectMcp } = await import('../mcp/index.ts')
  const opened = await Promise.allSettled(wanted.map((each) => connectMcp(each)))
  const tools = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  const close = async () => {
    await Promise.allSettled(tools.map((each) => each.close()))
  }
  const failed = opened.find((each) => each.status === 'rejected')
  if (!failed) return { tools, close }
  await close()
  throw new UsageError(`--mcp: ${describeThrown(failed.reason)}`)
}

const endpointOf = (wanted: string): { url: string } | { command: string; args: string[] } => {
  if (/^https?:/i.test(wanted)) return { url: wanted }
  const [command, ...args] = shellWords(wanted)
  if (command === undefined || command === '')
    throw new UsageError(
      '--mcp needs a URL, or a command such as "npx -y @modelcontextprotocol/server-filesystem ."',
    )
  return { command, args }
}
