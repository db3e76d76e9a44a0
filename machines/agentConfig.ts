import { withDefaults } from '../src/messages/optionRules.ts'
import { type Accumulator, messageAccumulator } from '../src/model/accumulator.ts'
import type { ChatModel, GenerationSettings } from '../src/model/chatModel.ts'
import { newId } from '../src/model/newId.ts'
import { defaultRetryPolicy, type RetryPolicy } from '../src/model/retryPolicy.ts'
import { defaultTimeouts, type Timeouts } from '../src/model/timeouts.ts'
import type { OnApproval } from '../src/tools/approval.ts'
import { type AnyTool, type Tool, toolsByName } from '../src/tools/tool.ts'
import { createToolExecutor, isOwnBatch, type ToolExecutor } from '../src/tools/toolExecutor.ts'
import { checkConfig } from './configRules.ts'
import type { PrepareStep } from './prepareStep.ts'

/** How many calls of one turn may run at the same time. */
export type ToolExecution = 'sequential' | 'parallel' | { concurrency: number }

/** Everything an agent's chart is built from. Only `model` is required. */
export type AgentMachineConfig = {
  model: ChatModel
  /** Shown in errors, in the `step` event and in the inspector. */
  name?: string
  /** Models to go on with, one after the other, when retries do not help. */
  fallback?: readonly ChatModel[]
  tools?: readonly AnyTool[]
  /** The system prompt. */
  system?: string
  settings?: GenerationSettings
  /** Model calls of one run at most. Default 25. */
  maxSteps?: number
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
  tools: ReadonlyMap<string, Tool>
  /** Whether tools that come with a prompt stand in for the agent's. */
  takesTools: boolean
  /** The tools that the agent does not have: a chart made of runs adds them to some of its runs. */
  ownTools: readonly AnyTool[]
  system: string | undefined
  settings: GenerationSettings
  maxSteps: number
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
  const { maxSteps = 25, toolExecution = 'sequential', tools = [] } = config
  const ofAgent = toolsOfAgent ?? tools
  const models = [config.model, ...(config.fallback ?? [])]
  const { executeSingle, executeBatch } = config.toolExecutor ?? {}
  const hide = (text: string) => models.reduce((safe, model) => model.redact?.(safe) ?? safe, text)
  return {
    models,
    name: config.name,
    tools: toolsByName(tools),
    takesTools: tools === ofAgent || (tools.length > 0 && ofAgent.every((each) => tools.includes(each))),
    ownTools: tools.filter((each) => !ofAgent.includes(each)),
    system: config.system,
    settings: config.settings ?? {},
    maxSteps,
    toolExecution,
    retry: withDefaults(defaultRetryPolicy, config.retry),
    firstChunkMs: config.timeouts?.firstChunkMs ?? defaultTimeouts.firstChunkMs,
    idleMs: config.timeouts?.idleMs ?? defaultTimeouts.idleMs,
    totalMs: config.timeouts?.totalMs,
    accumulator: withDefaults(messageAccumulator, config.accumulator),
    executeSingle: executeSingle ?? createToolExecutor(hide).executeSingle,
    executeBatch: isOwnBatch(executeBatch) ? executeBatch : undefined,
    onApproval: config.onApproval,
    prepareStep: config.prepareStep,
    hide,
    newId: config.newId ?? newId,
    random: config.random ?? Math.random,
  }
}
