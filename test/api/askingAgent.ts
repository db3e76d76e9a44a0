import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import type { PendingApproval } from '../../src/messages/result.ts'
import { type ScriptStep, type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { idle } from '../engine/watching.ts'

/** A call of one of the tools below. */
export const call = (id: string, name = 'ask', args: Record<string, number> = {}): ScriptStep => ({
  toolCall: { id, name, arguments: args },
})

/** An agent with a tool that needs an approval, one that does not, and one that is answered from outside. */
export const askingAgent = (turns: readonly ScriptTurn[], options: AgentOptions = {}) => {
  /** What ran: the call and the arguments it ran with. */
  const ran: string[] = []
  const input = { jsonSchema: { type: 'object' } }
  const make = (name: string, needsApproval: boolean) =>
    tool({
      name,
      description: name,
      needsApproval,
      input,
      onInterrupted: 'rerun',
      execute: (args, { callId }) => {
        ran.push(`${callId} ${JSON.stringify(args)}`)
        return `ran ${callId}`
      },
    })
  const outside = tool({ name: 'outside', description: 'outside', input })
  const model = scriptedModel(turns)
  const tools = [make('ask', true), make('free', false), outside]
  return { ran, model, agent: new Agent(model, { tools, ...options }) }
}

/** What a result waits for, as it comes back from a store. */
export const waitOf = ({ pendingApproval }: { pendingApproval?: PendingApproval }): PendingApproval => {
  if (!pendingApproval) throw new Error('Nothing waits.')
  return JSON.parse(JSON.stringify(pendingApproval))
}

/** What a promise has come to once nothing moves any more: it must not be left open. */
export const settled = async <T>(promise: Promise<T>): Promise<T> => {
  let isOpen = true
  const noted = promise.finally(() => {
    isOpen = false
  })
  noted.catch(() => {})
  await idle(10)
  if (isOpen) throw new Error('The promise is left open.')
  return noted
}
