import { type SubAgent, subRun } from '../../machines/tools/subAgent.ts'
import type { JsonObject } from '../messages/json.ts'
import { amount, checkOptions, type Rules, text } from '../messages/optionRules.ts'
import { defaultToolTimeoutMs, type Tool, type ToolContext, tool } from '../tools/tool.ts'
import { outcomeOf } from './runOutcome.ts'

/** Options of an agent that is offered as a tool; see `Agent.asTool`. */
export type AgentToolOptions = {
  /** The name that the calling model uses. */
  name: string
  /** The purpose of the agent: the calling model decides by it. */
  description: string
  /** The time that the agent may take; time spent waiting for a person does not count. Default: 5 minutes. */
  timeoutMs?: number
}

const promptSchema: JsonObject = {
  type: 'object',
  properties: { prompt: { type: 'string', description: 'The whole task, with everything needed to do it.' } },
  required: ['prompt'],
  additionalProperties: false,
}

// tool() checks the name.
const rules: Rules<AgentToolOptions> = { name: () => undefined, description: text, timeoutMs: amount }

/** An agent as a tool: it gets a prompt and answers with its text. */
export const agentTool = <Deps>(
  agent: () => Omit<SubAgent, 'timeoutMs'>,
  options: AgentToolOptions,
): Tool<Deps> => {
  checkOptions('The options of asTool', options, rules)
  const { name, description, timeoutMs = defaultToolTimeoutMs } = options
  return {
    ...tool({
      name,
      description,
      input: { jsonSchema: promptSchema },
      // The run keeps its own time.
      timeoutMs: Number.POSITIVE_INFINITY,
      // It continues from where it was: only the calls that it made itself are in doubt.
      onInterrupted: 'rerun',
      execute: async ({ prompt }, call: ToolContext<Deps>) => {
        const output = await subRun({ ...agent(), timeoutMs }, String(prompt), call)
        // What the run used counts for the run that called it, whether it succeeded or not.
        if (output?.usage) call.addUsage(output.usage)
        const outcome = outcomeOf(output)
        if (!outcome) throw new TypeError('The agent ended without an AgentOutput.')
        if ('error' in outcome) throw outcome.error()
        return outcome.result.output
      },
    }),
    repeatable: false,
    isAgent: true,
  }
}
