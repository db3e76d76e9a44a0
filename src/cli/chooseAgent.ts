import type { RunLimits } from '../../machines/agent/limits.ts'
import { Agent, type AgentOptions } from '../agent/Agent.ts'
import { findAgent } from './agentFile.ts'
import { chooseModel } from './chooseModel.ts'
import { type Invocation, numberOption, textOption } from './command.ts'
import { UsageError } from './exit.ts'
import { openServers } from './mcpServers.ts'
import { builtInTools } from './tools/index.ts'

/** Who answers. */
export type ChosenAgent = {
  /** Made each time from the current options; the agent of a file is always the same. */
  make: () => Agent
  /** Which one, and why: one line. */
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
      make: () => new Agent(model, { ...options, ...settings, tools: tools() }),
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
  throw new UsageError(`"${typed}" is not a limit: --max-${limit} takes a number.`)
}
