import type { AnyStateMachine } from 'xstate'
import { withDefaults } from '../../src/messages/optionRules.ts'
import type { Usage } from '../../src/messages/result.ts'
import { type Accumulator, messageAccumulator } from '../../src/model/accumulator.ts'
import type { ChatModel, GenerationSettings } from '../../src/model/chatModel.ts'
import { newId } from '../../src/model/newId.ts'
import { defaultRetryPolicy, type RetryPolicy } from '../../src/model/retryPolicy.ts'
import { defaultTimeouts, type Timeouts } from '../../src/model/timeouts.ts'
import type { OnApproval } from '../../src/tools/approval.ts'
import { isThenable } from '../../src/tools/isThenable.ts'
import {
  type AnyTool,
  type AnyToolEntry,
  isToolSource,
  toolsByName,
  withoutSources,
} from '../../src/tools/tool.ts'
import { type OnToolError, warnOfToolError } from '../../src/tools/toolError.ts'
import { createToolExecutor, isOwnBatch, type ToolExecutor } from '../../src/tools/toolExecutor.ts'
import type { PrepareStep } from '../model/prepareStep.ts'
import { resolvePolicy } from '../policy/policyConfig.ts'
import type { PolicyOptions } from '../policy/policyEvents.ts'
import type { ResolvedPolicy } from '../policy/questions.ts'
import { taskTools } from '../tasks/taskTools.ts'
import { checkConfig } from './configRules.ts'
import { type AtLimit, limitsOf, type RunLimits } from './limits.ts'
import { copyOf } from './streamingState.ts'

/** The number of calls of one turn that may run at the same time. */
export type ToolExecution = 'sequential' | 'parallel' | { concurrency: number }

/**
 * Options for shortening a conversation that no longer fits. With them it is also shortened before a provider refuses
 * it.
 */
export type CompactionOptions<Model = ChatModel> = {
  /** The tokens that fit. Default: the number in the table of models, or in a refusal of the provider. */
  window?: number
  /** The share of the window that may be filled, from 0 to 1. Default: 0.8. */
  at?: number
  /** The tokens at the end of the conversation that stay unchanged. Default: a quarter of the window. */
  keepTokens?: number
  /** The model that writes the summary. Default: the agent's own. */
  model?: Model
  /** The prompt that asks for the summary. Default: one that keeps requests, decisions, facts and open work. */
  instructions?: string
}

/** Computes the cost of a request in US dollars. If it throws, or does not return a number, the cost is not known. */
export type Price = (model: { provider: string; model: string }, usage: Usage) => number | undefined

/** Options of an agent's chart. Only `model` is required. */
export type AgentMachineConfig = {
  model: ChatModel
  /** The name in errors, in the `step` event and in the inspector. Default: none. */
  name?: string
  /** Models to continue with, one after the other, when retries do not help. Default: none. */
  fallback?: readonly ChatModel[]
  /** The tools that the model may call. Default: none. */
  tools?: readonly AnyToolEntry[]
  /**
   * `false` for a run that knows the tools and calls none, such as a critic in a conversation with tools: the earlier
   * part of each request stays the same, so that caches and signed thinking remain valid. Default: true.
   */
  callsTools?: boolean
  /** The system prompt. Default: none. */
  system?: string
  /** The list of skills, below every system prompt. Default: none. */
  skillList?: string
  /** Temperature, thinking and other settings of the model. Default: the provider's. */
  settings?: GenerationSettings
  /** The most model calls of one run: short for `limits.steps`. Default: 25. */
  maxSteps?: number
  /** The steps, tokens, dollars and tool calls that a run may use. Default: 25 steps. */
  limits?: RunLimits
  /** The behaviour of a run at a limit. Default: `'stop'`. */
  atLimit?: AtLimit
  /**
   * Options for shortening a conversation that is too long. Default: it is shortened when the provider has refused a
   * request as too long.
   */
  compaction?: false | CompactionOptions
  /**
   * Computes the cost of a request in US dollars, if the provider does not report it. Default: the cost is not known.
   */
  price?: Price
  /** The number of tool calls of one turn that run at the same time. Default: `'sequential'`. */
  toolExecution?: ToolExecution
  /** The retries of failed requests. Default: 2 retries, 500 ms, 60 s. */
  retry?: Partial<RetryPolicy>
  /**
   * The longest waits for the first content, for the next one, and for the whole run. Default: 10 min, 5 min, none.
   */
  timeouts?: Timeouts
  /** Makes a message of the pieces of an answer, in your own way. Default: `messageAccumulator`. */
  accumulator?: Partial<Accumulator>
  /** Runs tool calls in your own way. Default: `createToolExecutor()`. */
  toolExecutor?: Partial<ToolExecutor>
  /** Decides on calls of tools with `needsApproval`. Default: the run waits for `tool.approve` and `tool.reject`. */
  onApproval?: OnApproval
  /**
   * Called with each exception of a tool; the model gets only its message. Default: its stack is a warning on standard
   * error, unless `NODE_ENV` is `production` or `test`.
   */
  onToolError?: OnToolError
  /** Called before each model call: it may choose another model, fewer tools or other settings for this step. Default: none. */
  prepareStep?: PrepareStep
  /**
   * The rules of its runs as a statechart: a prompt, call or answer that it cannot take does not pass. Default: none.
   */
  policy?: AnyStateMachine | PolicyOptions
  /** Makes ids for calls whose provider gave none. Default: UUID v7, which sorts by time. */
  newId?: () => string
  /** The random part of the wait before a retry, from 0 to 1. Default: `Math.random`. */
  random?: () => number
}

/** A configuration with every default filled in. */
export type ResolvedConfig = {
  /** The model, and those to fall back on. */
  models: readonly ChatModel[]
  name: string | undefined
  tools: readonly AnyToolEntry[]
  /** Tools that come with a prompt replace the agent's. */
  takesTools: boolean
  callsTools: boolean
  /** The tools that are not the agent's: a chart of several runs adds them to some of its runs. */
  ownTools: readonly AnyToolEntry[]
  system: string | undefined
  skillList: string
  settings: GenerationSettings
  limits: RunLimits
  atLimit: AtLimit
  /** The options. `isAhead`: the table of models counts, too. */
  compaction: false | (CompactionOptions & { isAhead: boolean })
  price: Price | undefined
  toolExecution: ToolExecution
  retry: RetryPolicy
  firstChunkMs: number
  idleMs: number
  totalMs: number | undefined
  accumulator: Accumulator
  executeSingle: ToolExecutor['executeSingle']
  /** The batch function, only if the user provides one. */
  executeBatch: ToolExecutor['executeBatch'] | undefined
  onApproval: OnApproval | undefined
  onToolError: OnToolError
  prepareStep: PrepareStep | undefined
  policy: ResolvedPolicy | undefined
  /** Some of the tools are background agents. */
  hasBackground: boolean
  /** Removes the credentials of the models from a text. */
  hide: (text: string) => string
  newId: () => string
  random: () => number
}

/** Says whether some of the tools are background agents. */
export const someInBackground = (tools: readonly AnyToolEntry[]): boolean =>
  tools
    .flatMap((each): readonly AnyTool[] => (isToolSource(each) ? each.tools : [each]))
    .some(({ background }) => background !== undefined)

/** The configuration, and the tools of the agent if a run has others. */
export const resolveConfig = (
  config: AgentMachineConfig,
  toolsOfAgent?: AgentMachineConfig['tools'],
): ResolvedConfig => {
  checkConfig(config)
  const { toolExecution = 'sequential', tools = [], compaction } = config
  const ofAgent = toolsOfAgent ?? tools
  const hasBackground = someInBackground(tools)
  // Refuses two of the same name now, and not in the middle of a run. A source may bring any name at any moment.
  toolsByName([...withoutSources(tools), ...(hasBackground ? taskTools : [])])
  const models = [config.model, ...(config.fallback ?? [])]
  const hide = (text: string) => models.reduce((safe, model) => model.redact?.(safe) ?? safe, text)
  const { executeSingle, executeBatch } = ownExecutor(config.toolExecutor, hide)
  return {
    models,
    name: config.name,
    tools: [...tools],
    takesTools: tools === ofAgent || (tools.length > 0 && ofAgent.every((each) => tools.includes(each))),
    callsTools: config.callsTools ?? true,
    ownTools: tools.filter((each) => !ofAgent.includes(each)),
    system: config.system,
    skillList: config.skillList ?? '',
    settings: config.settings ?? {},
    limits: limitsOf(config),
    atLimit: config.atLimit ?? 'stop',
    compaction: compaction === false ? false : { ...compaction, isAhead: compaction !== undefined },
    price: config.price && synchronous('price', config.price),
    toolExecution,
    retry: withDefaults(defaultRetryPolicy, config.retry),
    firstChunkMs: config.timeouts?.firstChunkMs ?? defaultTimeouts.firstChunkMs,
    idleMs: config.timeouts?.idleMs ?? defaultTimeouts.idleMs,
    totalMs: config.timeouts?.totalMs,
    accumulator: ownAccumulator(config.accumulator),
    executeSingle,
    executeBatch,
    onApproval: config.onApproval,
    onToolError: config.onToolError ?? warnOfToolError(hide),
    prepareStep: config.prepareStep,
    policy:
      config.policy && resolvePolicy(config.policy, hasBackground ? [...ofAgent, ...taskTools] : ofAgent),
    hasBackground,
    hide,
    newId: config.newId ?? newId,
    random: config.random ?? Math.random,
  }
}

/** A function that must be synchronous: a promise is refused, and its rejection does not end the process. */
export const synchronous =
  <Args extends unknown[], T>(name: string, answer: (...args: Args) => T): ((...args: Args) => T) =>
  (...args) => {
    const given = answer(...args)
    if (!isThenable(given)) return given
    Promise.resolve(given).catch(() => {})
    throw new TypeError(`${name} must not return a promise.`)
  }

/** The accumulator, with the functions that you replaced. */
const ownAccumulator = ({ accumulate, consolidate }: Partial<Accumulator> = {}): Accumulator => ({
  accumulate: accumulate ? synchronous('accumulate', accumulate) : messageAccumulator.accumulate,
  consolidate: consolidate ? synchronous('consolidate', consolidate) : messageAccumulator.consolidate,
})

/** The executor, with the functions that you replaced. They get copies: the calls are part of the conversation. */
const ownExecutor = (
  { executeSingle, executeBatch }: Partial<ToolExecutor> = {},
  hide: (text: string) => string,
): Pick<ToolExecutor, 'executeSingle'> & Partial<ToolExecutor> => ({
  executeSingle: executeSingle
    ? (call, ...rest) => executeSingle(copyOf(call), ...rest)
    : createToolExecutor(hide).executeSingle,
  ...(executeBatch &&
    isOwnBatch(executeBatch) && { executeBatch: (calls, ...rest) => executeBatch(copyOf(calls), ...rest) }),
})
