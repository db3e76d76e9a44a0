import { StatewireError, ToolExecutionError } from '../messages/errors.ts'
import type { JsonObject } from '../messages/json.ts'
import type { ChatResult } from '../messages/result.ts'
import { type Tool, type ToolContext, tool } from '../tools/tool.ts'
import type { Agent } from './Agent.ts'

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

/** An agent as a tool: it gets a prompt and answers with its text. */
export const agentTool = (agent: Agent, { name, description, timeoutMs }: AgentToolOptions): Tool =>
  tool({
    name,
    description,
    input: { jsonSchema: promptSchema },
    ...(timeoutMs !== undefined && { timeoutMs }),
    execute: async ({ prompt }, context) => {
      const result = await answer(agent, String(prompt), context)
      const pending = result.pendingApproval?.calls.map((call) => call.name).join(', ')
      if (pending) {
        throw new ToolExecutionError(`The agent needs an approval for ${pending}, and has no onApproval.`, {
          toolName: name,
        })
      }
      return result.output
    },
  })

const answer = (agent: Agent, prompt: string, { signal, self, addUsage }: ToolContext): Promise<ChatResult> =>
  new Promise((resolve, reject) => {
    const count = ({ usage }: Partial<ChatResult>) => usage && addUsage(usage)
    const run = agent.run(
      { prompt },
      { signal, parent: self },
      {
        complete: (result) => {
          count(result)
          resolve(result)
        },
        fail: (error) => {
          if (error instanceof StatewireError) count(error.partial ?? {})
          reject(error)
        },
      },
    )
    run.start()
  })
