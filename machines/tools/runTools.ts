import type { AnyActorRef } from 'xstate'
import { stableJson } from '../../src/messages/json.ts'
import { adviceOn } from '../../src/messages/optionNames.ts'
import type { ToolSpec } from '../../src/model/chatModel.ts'
import { callToolName } from '../../src/tools/deferred.ts'
import {
  type AnyToolEntry,
  isToolSource,
  type Tool,
  toolsByName,
  withoutSources,
} from '../../src/tools/tool.ts'
import type { ResolvedConfig } from '../agent/agentConfig.ts'
import { valuesOf } from '../logic/runEnvironment.ts'
import { taskTools } from '../tasks/taskTools.ts'
import { digest } from './question.ts'

type Tools = ReadonlyMap<string, Tool>
type Entries = readonly AnyToolEntry[]

/** The tools of one run: the agent's, or those that came with the prompt in their place, and what its chart adds. */
export const toolsOf = (config: ResolvedConfig, actor: AnyActorRef): Tools => {
  const { tools } = valuesOf(actor)
  return currentTools(tools && config.takesTools ? withOwn(config, tools) : config.tools)
}

/** The first of these names that no tool of the run or of its agent has. `mayCome`: a source, or a later send, may bring it. */
export const unknownToolIn = (
  names: readonly string[],
  config: ResolvedConfig,
  actor: AnyActorRef,
): { name: string; advice: string; mayCome: boolean } | undefined => {
  if (names.length === 0 || !config.takesTools) return undefined
  const entries = [...(valuesOf(actor).tools ?? []), ...config.tools]
  const known = [...toolsOf(config, actor).keys(), ...currentTools(config.tools).keys()]
  const name = names.find((each) => !known.includes(each))
  if (name === undefined) return undefined
  return { name, advice: adviceOn(name, known), mayCome: entries.length === 0 || entries.some(isToolSource) }
}

const joined = new WeakMap<ResolvedConfig, WeakMap<Entries, Entries>>()

const withOwn = (config: ResolvedConfig, tools: Entries): Entries => {
  const ofConfig = joined.get(config) ?? new WeakMap<Entries, Entries>()
  joined.set(config, ofConfig)
  const known = ofConfig.get(tools) ?? [...tools, ...config.ownTools]
  ofConfig.set(tools, known)
  return known
}

type Made = { from: readonly Tool[]; tools: Tools }

/** The origin of a tool that the agent was given itself. */
export const ownOrigin = 'own'

const origins = new WeakMap<Tools, ReadonlyMap<string, string>>()

/**
 * The origin of the tool that has a name at this moment, as a text that can be stored: two tools have the same one
 * only if they are the agent's own, or come from the same source and are described in the same way.
 */
export const originIn = (tools: Tools, name: string): string => origins.get(tools)?.get(name) ?? ownOrigin

const made = new WeakMap<Entries, Made>()

/** The tools by name, with those that the sources hold at this moment. The map is the same until one of them changes. */
export const currentTools = (entries: Entries): Tools => {
  const known = made.get(entries)
  const from = entries.flatMap((entry) => (isToolSource(entry) ? entry.tools : []))
  if (known && known.from.length === from.length && known.from.every((each, index) => each === from[index]))
    return known.tools
  const tools = new Map(toolsByName(withoutSources(entries)))
  // A source must never break a run, nor replace a tool that was there before.
  const fromSource = new Map<string, string>()
  entries.filter(isToolSource).forEach((source, index) => {
    for (const each of source.tools) {
      if (tools.has(each.name)) continue
      tools.set(each.name, each)
      fromSource.set(each.name, originOf(each, index))
    }
  })
  if ([...tools.values()].some(({ background }) => background))
    for (const each of taskTools) tools.set(each.name, each)
  origins.set(tools, fromSource)
  made.set(entries, { from, tools })
  return tools
}

const originOf = ({ origin, name, description, inputSchema }: Tool, index: number): string =>
  digest(stableJson([origin ?? index, name, description, inputSchema]))

type Specs = { all: ToolSpec[]; withoutDeferred: ToolSpec[] }

const specs = new WeakMap<Tools, Specs>()

/**
 * The tools as the model sees them. An API that loads deferred tools gets them all; elsewhere the model calls them through
 * another tool.
 */
export const specsOf = (tools: Tools, loadsDeferred = false): ToolSpec[] => {
  const known = specs.get(tools) ?? madeSpecs(tools)
  specs.set(tools, known)
  return loadsDeferred ? known.all : known.withoutDeferred
}

const madeSpecs = (tools: Tools): Specs => {
  const all = [...tools.values()].map(
    ({ name, description, inputSchema, isDeferred, wire }): ToolSpec => ({
      name,
      description,
      inputSchema: inputSchema ?? {},
      ...(isDeferred && { deferred: true }),
      ...(wire && { wire }),
    }),
  )
  const hasDeferred = all.some(({ deferred }) => deferred)
  return {
    all: hasDeferred ? all.filter(({ name }) => name !== callToolName) : all,
    withoutDeferred: hasDeferred ? all.filter(({ deferred }) => !deferred) : all,
  }
}
