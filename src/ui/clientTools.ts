import type { AnyAgent } from '../agent/Agent.ts'
import { agentInternals } from '../agent/AgentInternals.ts'
import { ConfigurationError } from '../messages/errors.ts'
import type { JsonObject } from '../messages/json.ts'
import type { StandardSchema } from '../tools/schema.ts'
import { type Tool, tool, toolsByName } from '../tools/tool.ts'
import { Refusal } from './Refusal.ts'

/** A tool as a client describes it. */
export type ClientTool = { name: string; description: string; parameters: JsonObject }

/** The client checks the arguments of its own tools: a pattern in its schema must not be run here. */
const anything: StandardSchema = {
  '~standard': { version: 1, vendor: 'statewire', validate: (value) => ({ value }) },
}

/** The tools of a client, which answers their calls itself, beside those of an agent. */
export const clientToolsFor = (agent: AnyAgent, described: readonly ClientTool[]): Tool[] => {
  const taken = new Set(toolsByName(agentInternals(agent).tools).keys())
  return described.map(({ name, description, parameters }) => {
    if (taken.has(name)) throw new Refusal(400, `There is a tool "${name}" already: choose another name.`)
    taken.add(name)
    try {
      return tool({ name, description, input: { jsonSchema: parameters, schema: anything } })
    } catch (error) {
      throw error instanceof ConfigurationError ? new Refusal(400, error.message) : error
    }
  })
}
