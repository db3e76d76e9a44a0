import { StatewireError, ToolExecutionError } from '../messages/errors.ts'
import type { JsonObject } from '../messages/json.ts'
import type { SendResult } from '../messages/result.ts'
import { type Tool, type ToolContext, tool } from '../tools/tool.ts'
import type { Run } from './Run.ts'

/** How an agent is offered as a tool; see `Agent.asTool`. */
export type AgentToolOptions = {
  name: string
  /** What the agent is good for: the calling model decides by it. */
  description: string
  /** How long the agent may take. Default 5 minutes. */
  timeoutMs?: number
}

const promptSchema: JsonObject = {
  type: 'object',
  properties: { prompt: { type: 'string', description: 'The whole task, with everything needed to do it.' } },
  required: ['prompt'],
  additionalProperties: false,
}

/** An agent as a tool: it gets a prompt and answers with its text. `start` begins its run for a call. */
export const agentTool = <Deps>(
  start: (prompt: string, call: ToolContext<Deps>) => Run,
  { name, description, timeoutMs }: AgentToolOptions,
): Tool<Deps> =>
  tool({
    name,
    description,
    input: { jsonSchema: promptSchema },
    ...(timeoutMs !== undefined && { timeoutMs }),
    execute: async ({ prompt }, call: ToolContext<Deps>) => {
      const { pendingApproval, output } = await counted(start(String(prompt), call), call)
      if (!pendingApproval) return output
      const names = pendingApproval.calls.map((each) => each.name).join(', ')
      throw new ToolExecutionError(`The agent needs a decision on ${names}, and has no onApproval.`, {
        toolName: name,
      })
    },
  })

/** What the run uses counts for the run that called it, whether it succeeds or not. */
const counted = async (run: Run, { addUsage }: Pick<ToolContext, 'addUsage'>): Promise<SendResult> => {
  try {
    const result = await run.result
    if (result.usage) addUsage(result.usage)
    return result
  } catch (error) {
    const usage = error instanceof StatewireError ? error.partial?.usage : undefined
    if (usage) addUsage(usage)
    throw error
  }
}
