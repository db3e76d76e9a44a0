import { ConfigurationError } from '../../src/messages/errors.ts'
import {
  amount,
  callable,
  checkOptions,
  checkValue,
  fields,
  finiteAmount,
  flag,
  having,
  listOf,
  member,
  members,
  object,
  objectOr,
  oneOf,
  type Rule,
  type Rules,
  rule,
  text,
  wholeFrom,
  wholeNumber,
} from '../../src/messages/optionRules.ts'
import type { Accumulator } from '../../src/model/accumulator.ts'
import type { GenerationSettings } from '../../src/model/chatModel.ts'
import type { RetryPolicy } from '../../src/model/retryPolicy.ts'
import type { Timeouts } from '../../src/model/timeouts.ts'
import { toolRule } from '../../src/tools/tool.ts'
import type { ToolExecutor } from '../../src/tools/toolExecutor.ts'
import { policyRule } from '../policy/policyConfig.ts'
import { recordOf } from '../stored/shape.ts'
import type { AgentMachineConfig } from './agentConfig.ts'
import type { RunLimits } from './limits.ts'

export const settingRules: Rules<GenerationSettings> = {
  temperature: finiteAmount,
  maxOutputTokens: wholeFrom(1),
  topP: finiteAmount,
  stopSequences: listOf(text),
  seed: wholeNumber,
  toolChoice: objectOr(member('tool', text), oneOf('auto', 'none', 'required')),
  parallelToolCalls: flag,
  thinking: objectOr(
    fields({
      budgetTokens: wholeFrom(0),
      effort: oneOf('minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
    }),
    flag,
  ),
  cache: objectOr(fields({ ttl: oneOf('5m', '1h'), key: text }), oneOf('auto', 'off')),
  serverTools: listOf(object),
  providerOptions: object,
}

const retryRules: Rules<RetryPolicy> = {
  maxRetries: amount,
  initialDelayMs: finiteAmount,
  maxDelayMs: amount,
  midStream: flag,
}

const timeoutRules: Rules<Timeouts> = { firstChunkMs: amount, idleMs: amount, totalMs: amount }

const accumulatorRules: Rules<Accumulator> = { accumulate: callable, consolidate: callable }

const executorRules: Rules<ToolExecutor> = { executeSingle: callable, executeBatch: callable }

export const limitRules: Rules<RunLimits> = {
  steps: wholeFrom(1),
  tokens: amount,
  cost: amount,
  toolCalls: wholeFrom(0),
  repeats: wholeFrom(1),
  perTool: (name, value) => recordOf(wholeFrom(0))(name, value),
}

/** The rule for the options of a compaction, with a rule for its model. */
export const compactionRule = (model: Rule): Rule =>
  objectOr(
    fields({
      window: wholeFrom(1),
      at: rule(
        'a number above 0, at most 1',
        (value) => typeof value === 'number' && value > 0 && value <= 1,
      ),
      keepTokens: amount,
      model,
      instructions: text,
    }),
    rule('false or an object', (value) => value === false),
  )

/** Tools by name, as other libraries take them. */
const namedTools: Rule = (name) =>
  `${name} must be a list, not an object: write ${name}: [weather], each made with tool({ name, … }).`

/** The options that an agent and its machine have in common. */
export const sharedRules = {
  name: text,
  prepareStep: callable,
  tools: objectOr(namedTools, listOf(toolRule)),
  system: text,
  maxSteps: wholeFrom(1),
  limits: fields(limitRules),
  atLimit: oneOf('stop', 'answer', 'ask'),
  price: callable,
  toolExecution: objectOr(member('concurrency', wholeFrom(1)), oneOf('sequential', 'parallel')),
  retry: fields(retryRules),
  timeouts: fields(timeoutRules),
  accumulator: members(accumulatorRules),
  toolExecutor: members(executorRules),
  onApproval: callable,
  onToolError: callable,
} satisfies Partial<Rules<AgentMachineConfig>>

export const chatModelRule: Rule = (name, value) =>
  foreignModel(name, value) ?? having('stream')(name, value) ?? member('profile', object)(name, value)

/** A model of the AI SDK, which is found by its name here. */
const foreignModel: Rule = (name, value) => {
  const { doStream, provider, modelId } = Object(value)
  if (typeof doStream !== 'function') return undefined
  const [vendor = ''] = String(provider).split('.')
  return `${name} is a model of the AI SDK. Write its name: '${vendor}:${modelId}'.`
}

const configRules: Rules<AgentMachineConfig> = {
  ...sharedRules,
  model: chatModelRule,
  fallback: listOf(chatModelRule),
  compaction: compactionRule(chatModelRule),
  policy: policyRule(chatModelRule),
  settings: fields(settingRules),
  callsTools: flag,
  skillList: text,
  newId: callable,
  random: callable,
}

/** Refuses a configuration that cannot work. */
export const checkConfig = (config: AgentMachineConfig): void => {
  checkOptions('The configuration of an agent machine', config, configRules)
  checkValue('model', config.model, chatModelRule)
  checkSteps(config)
}

/** Refuses two limits of steps: one of them would be ignored. */
export const checkSteps = ({ maxSteps, limits }: { maxSteps?: number; limits?: RunLimits }): void => {
  if (maxSteps !== undefined && limits?.steps !== undefined)
    throw new ConfigurationError('maxSteps is short for limits.steps: give one of them, not both.')
}
