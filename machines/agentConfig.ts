import { ConfigurationError } from '../src/messages/errors.ts'
import { type Accumulator, messageAccumulator } from '../src/model/accumulator.ts'
import type { ChatModel, GenerationSettings } from '../src/model/chatModel.ts'
import { defaultRetryPolicy, type RetryPolicy } from '../src/model/retryPolicy.ts'
import type { OnApproval } from '../src/tools/approval.ts'
import { type Tool, toolsByName } from '../src/tools/tool.ts'
import { createToolExecutor, isOwnBatch, type ToolExecutor } from '../src/tools/toolExecutor.ts'

/** How many calls of one turn may run at the same time. */
export type ToolExecution = 'sequential' | 'parallel' | { concurrency: number }

/** How long a run waits, in milliseconds. */
export type Timeouts = {
  /** From the request to the first content of the answer; keep-alives do not count. Default 10 minutes. */
  firstChunkMs?: number
  /** Between two pieces of content of a running answer. Default 5 minutes. */
  idleMs?: number
  /** The whole run, time spent waiting for approvals excepted. Default none. */
  totalMs?: number
}

/** Everything an agent's chart is built from. Only `model` is required. */
export type AgentMachineConfig = {
  model: ChatModel
  /** Models to go on with, one after the other, when retries do not help. */
  fallback?: readonly ChatModel[]
  tools?: readonly Tool[]
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
  /** Ids for calls whose provider gave none. Default UUID v4. */
  newId?: () => string
  /** Jitter of the back-off, from 0 to 1. */
  random?: () => number
}

/** The same, with every default filled in. */
export type ResolvedConfig = {
  /** The model, and those to fall back on. */
  models: readonly ChatModel[]
  tools: ReadonlyMap<string, Tool>
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
  newId: () => string
  random: () => number
}

export const resolveConfig = (config: AgentMachineConfig): ResolvedConfig => {
  const { maxSteps = 25, toolExecution = 'sequential' } = config
  mustBePositive('maxSteps', maxSteps)
  if (typeof toolExecution === 'object')
    mustBePositive('toolExecution.concurrency', toolExecution.concurrency)
  const models = [config.model, ...(config.fallback ?? [])]
  const { executeSingle, executeBatch } = config.toolExecutor ?? {}
  const hide = (text: string) => models.reduce((safe, model) => model.redact?.(safe) ?? safe, text)
  return {
    models,
    tools: toolsByName(config.tools ?? []),
    system: config.system,
    settings: config.settings ?? {},
    maxSteps,
    toolExecution,
    retry: { ...defaultRetryPolicy, ...config.retry },
    firstChunkMs: config.timeouts?.firstChunkMs ?? 600_000,
    idleMs: config.timeouts?.idleMs ?? 300_000,
    totalMs: config.timeouts?.totalMs,
    accumulator: { ...messageAccumulator, ...config.accumulator },
    executeSingle: executeSingle ?? createToolExecutor(hide).executeSingle,
    executeBatch: isOwnBatch(executeBatch) ? executeBatch : undefined,
    onApproval: config.onApproval,
    newId: config.newId ?? (() => crypto.randomUUID()),
    random: config.random ?? Math.random,
  }
}

const mustBePositive = (name: string, value: number): void => {
  if (!Number.isInteger(value) || value < 1) {
    throw new ConfigurationError(`${name} must be a whole number from 1 on, not ${value}.`)
  }
}
