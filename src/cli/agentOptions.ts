import type { RunLimits } from '../../machines/limits.ts'
import type { AgentOptions } from '../agent/Agent.ts'
import type { ChosenModel } from './chooseModel.ts'
import { type Invocation, textOption } from './command.ts'
import { UsageError } from './exit.ts'
import { builtInTools } from './tools/index.ts'

/** What all commands that ask a model make of their options. */
export const agentOptions = (invocation: Invocation, { options }: ChosenModel): AgentOptions => {
  const system = textOption(invocation, 'system')
  const { values } = invocation
  return {
    ...options,
    ...(system !== undefined && { system }),
    ...(values['no-tools'] !== true && { tools: builtInTools }),
    ...(values.thinking === true && { thinking: true }),
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
