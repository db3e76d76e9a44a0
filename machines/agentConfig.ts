import { withDefaults } from '../src/messages/optionRules.ts'
import type { Usage } from '../src/messages/result.ts'
import type { Accumulator } from '../src/model/accumulator.ts'
import type { ChatModel, GenerationSettings } from '../src/model/chatModel.ts'
import { newId } from '../src/model/newId.ts'
import { defaultRetryPolicy, type RetryPolicy } from '../src/model/retryPolicy.ts'
import { defaultTimeouts, type Timeouts } from '../src/model/timeouts.ts'
import type { OnApproval } from '../src/tools/approval.ts'
import { type AnyToolEntry, toolsByName } from '../src/tools/tool.ts'
import type { ToolExecutor } from '../src/tools/toolExecutor.ts'
import { checkConfig } from './configRules.ts'
import { type AtLimit, limitsOf, type RunLimits } from './limits.ts'
import { atOnce, ownAccumulator, ownExecutor } from './ownParts.ts'
import type { PrepareStep } from './prepareStep.ts'

/** How many calls of one turn may run at the same time. */
export type ToolExecution = 'sequential' | 'parallel' | { concurrency: number }

/** How a conversation that no longer fits is made shorter for the model. With it, also before it is refused. */
export type CompactionOptions<Model = ChatModel> = {
  /** The tokens that fit; default what the model is known for, or what a provider says when it refuses. */
  window?: number
  /** How full it may get, as a part of it. Default 0.8. */
  at?: number
  /** The tokens at the end of the conversation that stay as they are. Default a quarter of the window. */
  keepTokens?: number
  /** The model that writes the summary; default the one that is asked. */
  model?: Model
  /** What a summary is asked for with. */
  instructions?: string
}

/** What a request cost in US dollars. One that throws, or gives no number, counts as not known. */
export type Price = (model: { provider: string; model: string }, usage: Usage) => number | undefined

/** Everything an agent's chart is built from. Only `model` is required. */
export type AgentMachineConfig = {
  model: ChatModel
  /** Shown in errors, in the `step` event and in the inspector. */
  name?: string
  /** Models to go on with, one after the other, when retries do not help. */
  fallback?: readonly ChatModel[]
  tools?: readonly AnyToolEntry[]
  /** The system prompt. */
  system?: string
  settings?: GenerationSettings
  /** Model calls of one run at most: short for `limits.steps`. Default 25. */
  maxSteps?: number
  /** What a run may use. */
  limits?: RunLimits
  /** What a run does at a limit. Default `stop`. */
  atLimit?: AtLimit
  /** How a conversation that is too long is made shorter for the model. Default: after a request that was refused for it. */
  compaction?: false | CompactionOptions
  /** What a request cost in US dollars, where the provider does not say; undefined if you do not know. */
  price?: Price
  toolExecution?: ToolExecution
  retry?: Partial<RetryPolicy>
  timeouts?: Timeouts
  accumulator?: Partial<Accumulator>
  toolExecutor?: Partial<ToolExecutor>
  /** Decides on calls of tools with `needsApproval`. Without it the run waits for `tool.approve` and `tool.reject`. */
  onApproval?: OnApproval
  /** Called before each model call, for another model, fewer tools or other settings in this step. */
  prepareStep?: PrepareStep
  /** Ids for calls whose provider gave none. Default UUID v7, which sorts by time. */
  newId?: () => string
  /** Jitter of the back-off, from 0 to 1. */
  random?: () => number
}

/** The same, with every default filled in. */
export type ResolvedConfig = {
  /** The model, and those to fall back on. */
  models: readonly ChatModel[]
  name: string | undefined
  tools: readonly AnyToolEntry[]
  /** Whether tools that come with a prompt stand in for the agent's. */
  takesTools: boolean
  /** The tools that the agent does not have: a chart made of runs adds them to some of its runs. */
  ownTools: readonly AnyToolEntry[]
  system: string | undefined
  settings: GenerationSettings
  limits: RunLimits
  atLimit: AtLimit
  /** `isAhead`: the table of models counts, too. */
  compaction: false | (CompactionOptions & { isAhead: boolean })
  price: Price | undefined
  toolExecution: ToolExecution
  retry: RetryPolicy
  firstChunkMs: number
  idleMs: number
  totalMs: number | undefined
  accumulator: Accumulator
  executeSingle: ToolExecutor['executeSingle']
  /** Only if it is the user's own. */
  executeBatch: ToolExecutor['executeBatch'] | undefined
  onApproval: OnApproval | undefined
  prepareStep: PrepareStep | undefined
  /** Takes the credentials of the models out of a text. */
  hide: (text: string) => string
  newId: () => string
  random: () => number
}

/** The configuration, and the tools of the agent where a run has others. */
export const resolveConfig = (
  config: AgentMachineConfig,
  toolsOfAgent?: AgentMachineConfig['tools'],
): ResolvedConfig => {
  checkConfig(config)
  const { toolExecution = 'sequential', tools = [], compaction } = config
  const ofAgent = toolsOfAgent ?? tools
  // Refuses two of the same name now, and not in the middle of a run.
  toolsByName(tools)
  const models = [config.model, ...(config.fallback ?? [])]
  const hide = (text: string) => models.reduce((safe, model) => model.redact?.(safe) ?? safe, text)
  const { executeSingle, executeBatch } = ownExecutor(config.toolExecutor, hide)
  return {
    models,
    name: config.name,
    tools: [...tools],
    takesTools: tools === ofAgent || (tools.length > 0 && ofAgent.every((each) => tools.includes(each))),
    ownTools: tools.filter((each) => !ofAgent.includes(each)),
    system: config.system,
    settings: config.settings ?? {},
    limits: limitsOf(config),
    atLimit: config.atLimit ?? 'stop',
    compaction: compaction === false ? false : { ...compaction, isAhead: compaction !== undefined },
    price: config.price && atOnce('price', config.price),
    toolExecution,
    retry: withDefaults(defaultRetryPolicy, config.retry),
    firstChunkMs: config.timeouts?.firstChunkMs ?? defaultTimeouts.firstChunkMs,
    idleMs: config.timeouts?.idleMs ?? defaultTimeouts.idleMs,
    totalMs: config.timeouts?.totalMs,
    accumulator: ownAccumulator(config.accumulator),
    executeSingle,
    executeBatch,
    onApproval: config.onApproval,
    prepareStep: config.prepareStep,
    hide,
    newId: config.newId ?? newId,
    random: config.random ?? Math.random,
  }
}
