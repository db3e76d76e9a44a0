import { ConfigurationError } from '../../src/messages/errors.ts'
import {
  amount,
  callable,
  checkOptions,
  checkSome,
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
  only,
  orWrite,
  type Rule,
  type Rules,
  rule,
  text,
  wholeFrom,
  wholeNumber,
  writtenAs,
} from '../../src/messages/optionRules.ts'
import type { Accumulator } from '../../src/model/accumulator.ts'
import type { GenerationSettings } from '../../src/model/chatModel.ts'
import { retryRules } from '../../src/model/retryPolicy.ts'
import { timeoutRules } from '../../src/model/timeouts.ts'
import { toolRule } from '../../src/tools/tool.ts'
import type { ToolExecutor } from '../../src/tools/toolExecutor.ts'
import { policyRule } from '../policy/policyConfig.ts'
import { recordOf } from '../stored/shape.ts'
import type { AgentMachineConfig } from './agentConfig.ts'
import type { RunLimits } from './limits.ts'

/** The choice of a tool as other libraries write it. */
const choiceAdvice = (value: unknown): string | undefined => {
  if (value === 'any') return "'required'"
  return typeof value === 'string' || typeof value === 'object'
    ? "toolChoice: { tool: 'get_weather' } for one tool"
    : undefined
}

export const settingRules: Rules<GenerationSettings> = {
  temperature: finiteAmount,
  maxOutputTokens: wholeFrom(1),
  topP: finiteAmount,
  stopSequences: listOf(text),
  seed: wholeNumber,
  toolChoice: orWrite(objectOr(only('tool', text), oneOf('auto', 'none', 'required')), choiceAdvice),
  parallelToolCalls: flag,
  thinking: orWrite(
    objectOr(
      fields({
        budgetTokens: wholeFrom(0),
        effort: oneOf('minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
      }),
      flag,
    ),
    (value) => (typeof value === 'string' ? "thinking: { effort: 'high' }" : undefined),
  ),
  cache: objectOr(fields({ ttl: oneOf('5m', '1h'), key: text }), oneOf('auto', 'off')),
  serverTools: listOf(object),
  providerOptions: object,
}

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
  system: orWrite(text, (value) =>
    typeof value === 'function' ? 'prepareStep: () => ({ system: … })' : undefined,
  ),
  maxSteps: wholeFrom(1),
  limits: fields(limitRules),
  atLimit: oneOf('stop', 'answer', 'ask'),
  price: callable,
  toolExecution: orWrite(
    objectOr(only('concurrency', wholeFrom(1)), oneOf('sequential', 'parallel')),
    (value) => (typeof value === 'number' ? `toolExecution: { concurrency: ${value} }` : undefined),
  ),
  retry: orWrite(fields(retryRules), (value) =>
    typeof value === 'number' || value === false ? `retry: { maxRetries: ${Number(value)} }` : undefined,
  ),
  timeouts: orWrite(fields(timeoutRules), (value) =>
    typeof value === 'number' ? `timeouts: { totalMs: ${value} }` : undefined,
  ),
  accumulator: members(accumulatorRules),
  toolExecutor: members(executorRules),
  onApproval: callable,
  onToolError: callable,
} satisfies Partial<Rules<AgentMachineConfig>>

export const chatModelRule: Rule = (name, value) =>
  foreignModel(name, value) ??
  orWrite(having('stream'), modelAdvice)(name, value) ??
  member('profile', object)(name, value)

/** Advice for a name, or for an agent, where a chat model is needed. */
const modelAdvice = (value: unknown): string | undefined => {
  if (typeof value === 'string')
    return "openai('gpt-6-luna') of statewire/providers/openai, or new Agent('openai:gpt-6-luna').machine"
  const { model } = Object(value)
  return typeof Object(model).stream === 'function' ? 'its model: agent.model' : undefined
}

/** A model of the AI SDK: here a model has a name instead. */
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

/** Settings that are written beside `settings` instead of inside of it. */
const settingsElsewhere: Readonly<Record<string, Rule>> = Object.fromEntries(
  Object.keys(settingRules).map((name) => [name, writtenAs(`settings: { ${name} }`)]),
)

/** Refuses a configuration that cannot work. */
export const checkConfig = (config: AgentMachineConfig): void => {
  if (typeof Object(config).stream === 'function')
    throw new ConfigurationError('The configuration of an agent machine needs a model: write { model }.')
  if (typeof Object(config).send === 'function')
    throw new ConfigurationError('The configuration of an agent machine is an agent: write agent.machine.')
  checkSome('The configuration of an agent machine', config, settingsElsewhere)
  checkOptions('The configuration of an agent machine', config, configRules)
  checkValue('model', config.model, chatModelRule)
  checkSteps(config)
}

/** Refuses two limits of steps: one of them would be ignored. */
export const checkSteps = ({ maxSteps, limits }: { maxSteps?: number; limits?: RunLimits }): void => {
  if (maxSteps !== undefined && limits?.steps !== undefined)
    throw new ConfigurationError('maxSteps is short for limits.steps: give one of them, not both.')
}
