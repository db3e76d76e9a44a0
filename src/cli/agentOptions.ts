import type { AgentOptions } from '../agent/Agent.ts'
import type { ChosenModel } from './chooseModel.ts'
import { type Invocation, textOption } from './command.ts'
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
  }
}
