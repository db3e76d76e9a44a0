import type { RunLimits } from '../../machines/agent/limits.ts'
import { Agent } from '../agent/Agent.ts'
import type { AgentOptions } from '../agent/options.ts'
import { describeThrown } from '../messages/errors.ts'
import type { ToolSource } from '../tools/tool.ts'
import { chooseModel } from './chooseModel.ts'
import { type Invocation, listOption, numberOption, textOption } from './command.ts'
import { findAgent } from './moduleFile.ts'
import { UsageError } from './outcome.ts'
import { builtInTools } from './tools/builtInTools.ts'

/** The agent that answers. */
export type ChosenAgent = {
  /** Makes the agent from the current options; that of a file is always the same. */
  make: () => Agent
  /** Names it and gives the reason, in one line. */
  said: string
  close: () => Promise<void>
}

/** The agent of a file, or one that is made of a model, the built-in tools and those of `--mcp`. */
export const chooseAgent = async (invocation: Invocation, file: string | undefined): Promise<ChosenAgent> => {
  if (file !== undefined) {
    const agent = await findAgent(file, invocation)
    return { make: () => agent, said: `Agent: ${file}`, close: async () => {} }
  }
  const settings = settingsOf(invocation)
  const servers = await openServers(invocation)
  try {
    const { model, options, said, close } = await chooseModel(invocation)
    const tools = () => [...(invocation.values['no-tools'] === true ? [] : builtInTools), ...servers.tools]
    return {
      make: () => new Agent(model, { ...options, ...settings, tools: tools(), onToolError: () => {} }),
      said: `Model: ${said}`,
      close: async () => {
        await Promise.all([close(), servers.close()])
      },
    }
  } catch (thrown) {
    await servers.close()
    throw thrown
  }
}

const settingsOf = (invocation: Invocation): AgentOptions => {
  const system = textOption(invocation, 'system')
  const temperature = numberOption(invocation, 'temperature')
  return {
    ...(system !== undefined && { system }),
    ...(temperature !== undefined && { temperature }),
    ...(invocation.values.thinking === true && { thinking: true }),
    limits: { ...amountOption(invocation, 'steps'), ...amountOption(invocation, 'cost') },
    atLimit: 'ask',
  }
}

const amountOption = (invocation: Invocation, limit: 'steps' | 'cost'): RunLimits => {
  const typed = textOption(invocation, `max-${limit}`)
  if (typed === undefined) return {}
  const isAmount = limit === 'steps' ? /^[1-9]\d{0,5}$/ : /^\d{1,6}(\.\d{1,9})?$/
  if (isAmount.test(typed)) return { [limit]: Number(typed) }
  throw new UsageError(
    `"${typed}" is not a limit: --max-${limit} takes a ${limit === 'steps' ? 'whole number, 1 or more' : 'number'}.`,
  )
}

/** The servers of `--mcp`: connected together, closed together. */
type McpServers = { tools: readonly ToolSource[]; close: () => Promise<void> }

/** Connects to each `--mcp`: a URL, or a command to start. If one of them fails, the others are closed. */
const openServers = async (invocation: Invocation): Promise<McpServers> => {
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

/** The words of a command, as a shell would split it. Quotes and backslashes hold together; nothing else has a meaning. */
export const shellWords = (command: string): string[] => {
  const words: string[] = []
  let word: string | undefined
  // A quoted text, an escaped character, white space, or anything else.
  for (const [token] of command.matchAll(/"(?:\\[\s\S]|[^"\\])*"|'[^']*'|\\[\s\S]|\s+|[^\s"'\\]+|[\s\S]/g)) {
    if (/^\s/.test(token)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = (word ?? '') + meaningOf(token, command)
  }
  return word === undefined ? words : [...words, word]
}

const meaningOf = (token: string, command: string): string => {
  if (token === '"' || token === "'") throw new UsageError(`--mcp: a ${token} is not closed in: ${command}`)
  if (token.startsWith("'")) return token.slice(1, -1)
  if (token.startsWith('"')) return token.slice(1, -1).replace(/\\(["\\])/g, '$1')
  return token.length === 2 && token.startsWith('\\') ? token.slice(1) : token
}
