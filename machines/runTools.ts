import type { AnyActorRef } from 'xstate'
import type { ToolSpec } from '../src/model/chatModel.ts'
import { type Tool, toolsByName } from '../src/tools/tool.ts'
import type { ResolvedConfig } from './agentConfig.ts'
import { valuesOf } from './runValues.ts'

type Tools = ReadonlyMap<string, Tool>

const made = new WeakMap<ResolvedConfig, WeakMap<readonly unknown[], Tools>>()

/** The tools of one run: the agent's, or those that came with the prompt in their place, and what its chart adds. */
export const toolsOf = (config: ResolvedConfig, actor: AnyActorRef): Tools => {
  const { tools } = valuesOf(actor)
  if (!tools || !config.takesTools) return config.tools
  const ofConfig = made.get(config) ?? new WeakMap<readonly unknown[], Tools>()
  made.set(config, ofConfig)
  const known = ofConfig.get(tools) ?? toolsByName([...tools, ...config.ownTools])
  ofConfig.set(tools, known)
  return known
}

const specs = new WeakMap<Tools, ToolSpec[]>()

/** What the model is told of them. */
export const specsOf = (tools: Tools): ToolSpec[] => {
  const known =
    specs.get(tools) ??
    [...tools.values()].map(({ name, description, inputSchema }) => ({
      name,
      description,
      inputSchema: inputSchema ?? {},
    }))
  specs.set(tools, known)
  return known
}
