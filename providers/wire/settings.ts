import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../../src/messages/json.ts'
import type { Warning } from '../../src/messages/result.ts'
import type { GenerationSettings, ModelProfile, ModelRequest, Thinking } from '../../src/model/chatModel.ts'
import { anyEffort, type EffortWord } from '../models/modelFacts.ts'

/** A setting that is a field of a request body. */
export type Setting = Exclude<keyof GenerationSettings, 'serverTools' | 'cache' | 'providerOptions'>

/** The fields of each setting in the bodies of all protocols, as paths. No field means two things on two wires. */
export const settingFields: Readonly<Record<Setting, readonly string[]>> = {
  temperature: [
    'temperature',
    'generationConfig.temperature',
    'options.temperature',
    'inferenceConfig.temperature',
  ],
  topP: ['top_p', 'p', 'generationConfig.topP', 'options.top_p', 'inferenceConfig.topP'],
  maxOutputTokens: [
    'max_tokens',
    'max_completion_tokens',
    'max_output_tokens',
    'generationConfig.maxOutputTokens',
    'options.num_predict',
    'inferenceConfig.maxTokens',
  ],
  stopSequences: [
    'stop',
    'stop_sequences',
    'generationConfig.stopSequences',
    'options.stop',
    'inferenceConfig.stopSequences',
  ],
  seed: ['seed', 'random_seed', 'generationConfig.seed', 'options.seed'],
  toolChoice: ['tool_choice', 'toolConfig.functionCallingConfig', 'toolConfig.toolChoice'],
  parallelToolCalls: ['parallel_tool_calls', 'tool_choice.disable_parallel_tool_use'],
  thinking: [
    'reasoning_effort',
    'output_config.effort',
    'reasoning',
    'thinking',
    'enable_thinking',
    'thinking_budget',
    'chat_template_kwargs',
    'prompt_mode',
    'think',
    'generationConfig.thinkingConfig',
    'additionalModelRequestFields.reasoning_effort',
    'additionalModelRequestFields.reasoning',
    'additionalModelRequestFields.reasoningConfig',
  ],
}

/** The value at a path of a body. */
export const valueAt = (body: JsonObject, path: string): JsonValue | undefined => {
  let value: JsonValue | undefined = body
  for (const key of path.split('.')) value = isJsonObject(value) ? ownValue(value, key) : undefined
  return value
}

/** A body with another value at a path, or without it; an object that becomes empty by that goes, too. */
export const withValueAt = (body: JsonObject, path: string, value: JsonValue | undefined): JsonObject => {
  const [key = '', ...rest] = path.split('.')
  const inner = ownValue(body, key)
  const changed =
    rest.length === 0 ? value : isJsonObject(inner) ? withValueAt(inner, rest.join('.'), value) : inner
  const { [key]: _, ...others } = body
  const isEmpty = rest.length > 0 && isJsonObject(changed) && Object.keys(changed).length === 0
  return changed === undefined || isEmpty ? others : { ...body, [key]: changed }
}

/** The difference between a setting as it was given and as it is sent. */
type SettingChange = Pick<Warning, 'setting' | 'change'> & {
  /** The sentence of the warning after the model's name. */
  said: string
}

type Profile = ModelProfile & { thinkingOff?: string }

/**
 * The settings of a request that its body does not have, or has otherwise, and an endpoint that is about to end. The body is compared, instead of each
 * protocol saying what it leaves out: a setting that a protocol forgets is found, too.
 */
export const settingChanges = (
  request: ModelRequest,
  body: JsonObject,
  profile: Profile,
): SettingChange[] => [
  ...(profile.deprecated === undefined
    ? []
    : [{ setting: 'baseUrl', change: 'deprecated' as const, said: profile.deprecated }]),
  ...samplingChanges(request, body),
  ...toolChanges(request, body),
  ...thinkingChanges(request, body, profile),
]

const sentValues = (body: JsonObject, setting: Setting): JsonValue[] => {
  const values: JsonValue[] = []
  for (const { first, path } of pathsOf[setting]) {
    // Most bodies have none of these fields.
    const value = Object.hasOwn(body, first) ? valueAt(body, path) : undefined
    if (value !== undefined) values.push(value)
  }
  return values
}

type Path = { first: string; path: string }

const pathsIn = (setting: Setting): Path[] =>
  settingFields[setting].map((path) => ({ first: path.split('.', 1).join(), path }))

const pathsOf: Readonly<Record<Setting, readonly Path[]>> = {
  temperature: pathsIn('temperature'),
  topP: pathsIn('topP'),
  maxOutputTokens: pathsIn('maxOutputTokens'),
  stopSequences: pathsIn('stopSequences'),
  seed: pathsIn('seed'),
  toolChoice: pathsIn('toolChoice'),
  parallelToolCalls: pathsIn('parallelToolCalls'),
  thinking: pathsIn('thinking'),
}

const omitted = (setting: Setting): SettingChange => ({
  setting,
  change: 'omitted',
  said: `does not take ${setting}: it is left out.`,
})

const samplingChanges = (request: ModelRequest, body: JsonObject): SettingChange[] => {
  const { stopSequences = [] } = request
  const [stops] = sentValues(body, 'stopSequences')
  const some = Array.isArray(stops) && stops.length < stopSequences.length
  const single = (['temperature', 'topP', 'maxOutputTokens', 'seed'] as const).filter(
    (setting) => request[setting] !== undefined && sentValues(body, setting).length === 0,
  )
  return [
    ...single.map(omitted),
    ...(stopSequences.length > 0 && stops === undefined ? [omitted('stopSequences')] : []),
    ...(some
      ? [
          {
            setting: 'stopSequences',
            change: 'replaced' as const,
            said: `takes only ${stops.length} of the stopSequences.`,
          },
        ]
      : []),
  ]
}

const toolChanges = (request: ModelRequest, body: JsonObject): SettingChange[] => {
  const { tools = [], toolChoice, parallelToolCalls } = request
  if (tools.length === 0) return []
  const [choice] = sentValues(body, 'toolChoice')
  const isForced = toolChoice === 'required' || typeof toolChoice === 'object'
  const isFree = choice === undefined || isAuto(choice)
  return [
    ...(isForced && isFree
      ? [
          {
            setting: 'toolChoice',
            change: 'replaced' as const,
            said: 'cannot be made to call a tool: toolChoice is "auto" instead.',
          },
        ]
      : []),
    ...(parallelToolCalls === false && sentValues(body, 'parallelToolCalls').length === 0
      ? [omitted('parallelToolCalls')]
      : []),
  ]
}

const isAuto = (choice: JsonValue): boolean =>
  choice === 'auto' ||
  (isJsonObject(choice) && (choice.type === 'auto' || choice.mode === 'AUTO' || 'auto' in choice))

const thinkingChanges = (
  { thinking, providerOptions = {} }: ModelRequest,
  body: JsonObject,
  profile: Profile,
): SettingChange[] => {
  const sent = sentValues(body, 'thinking')
  const setting = 'thinking'
  if (sentValues(providerOptions, 'thinking').length > 0) return []
  if (thinking === undefined) {
    const said = `gets the setting ${JSON.stringify(sent[0])} for its thinking, because this request needs it.`
    return sent.length > 0 ? [{ setting, change: 'added', said }] : []
  }
  if (thinking === false) return offChanges(sent, profile)
  if (!profile.thinking)
    return [{ setting, change: 'omitted', said: 'does not think: thinking is left out.' }]
  if (sent.some(isOff)) {
    return [{ setting, change: 'replaced', said: 'does not think in this request: toolChoice excludes it.' }]
  }
  return effortChanges(thinking, sent)
}

const offChanges = (sent: readonly JsonValue[], profile: Profile): SettingChange[] => {
  const isLeftOut = sent.length === 0 && profile.thinkingOff === 'omit'
  if (!profile.thinking || isLeftOut || sent.some(isOff)) return []
  const least = sent.map(amountOf).find((amount) => amount !== undefined) ?? sent[0]
  return [
    least === undefined
      ? {
          setting: 'thinking',
          change: 'omitted',
          said: 'cannot be asked to stop thinking: thinking: false is left out.',
        }
      : {
          setting: 'thinking',
          change: 'replaced',
          said: `cannot stop thinking: it is asked for as little as it can (${JSON.stringify(least)}).`,
        },
  ]
}

const effortChanges = (thinking: Thinking, sent: readonly JsonValue[]): SettingChange[] => {
  const wanted = typeof thinking === 'object' ? thinking.effort : undefined
  if (wanted === undefined) return []
  const amounts = sent.map(amountOf).filter((amount) => amount !== undefined)
  const word = amounts.find((amount) => typeof amount === 'string')
  if (word === wanted || (word === undefined && amounts.length > 0)) return []
  return [
    word === undefined
      ? {
          setting: 'thinking',
          change: 'omitted',
          said: `takes no amount of thinking: the effort "${wanted}" is left out.`,
        }
      : {
          setting: 'thinking',
          change: 'replaced',
          said: `does not take the effort "${wanted}": it gets "${word}" instead.`,
        },
  ]
}

const isOff = (value: JsonValue): boolean =>
  value === false || value === null || value === 'none' || (isJsonObject(value) && isOffObject(value))

const isOffObject = (value: JsonObject): boolean =>
  value.type === 'disabled' ||
  value.effort === 'none' ||
  value.enabled === false ||
  value.enable_thinking === false ||
  value.thinking === false ||
  value.thinkingBudget === 0

/** The word or the number of tokens in a setting of thinking. */
const amountOf = (value: JsonValue): EffortWord | number | undefined => {
  if (typeof value === 'string') return anyEffort.find((word) => word === value.toLowerCase())
  if (typeof value === 'number') return value
  if (!isJsonObject(value)) return undefined
  const fields = [
    'effort',
    'thinkingLevel',
    'reasoning_effort',
    'thinkingBudget',
    'budget_tokens',
    'token_budget',
    'maxReasoningEffort',
    'max_tokens',
  ]
  return fields
    .map((field) => amountOf(ownValue(value, field) ?? null))
    .find((amount) => amount !== undefined)
}
