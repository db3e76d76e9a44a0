import { lastSaid } from '../../src/messages/compaction.ts'
import { describeThrown, type ErrorData } from '../../src/messages/errors.ts'
import { copyJson, isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import { type ChatMessage, textPart } from '../../src/messages/messages.ts'
import { unknownOption } from '../../src/messages/optionRules.ts'
import { isFatal, validateHistory } from '../../src/messages/validateHistory.ts'
import type { GenerationSettings } from '../../src/model/chatModel.ts'
import { prefixFrom, type RequestPrefix, requestBefore } from '../model/requestPrefix.ts'
import { policyFlaw } from '../policy/policyLogic.ts'
import type { ResolvedPolicy } from '../policy/questions.ts'
import { snapshotVersion } from '../stored/version.ts'
import type { ResolvedConfig } from './agentConfig.ts'
import { settingRules } from './configRules.ts'
import type { AgentInput } from './events.ts'
import { areLimits, finiteLimits, type RunLimits } from './limits.ts'
import {
  emptyAnswer,
  noBounds,
  noRound,
  nothingYet,
  type RunOptions,
  type StreamingState,
  unknownWindow,
} from './streamingState.ts'

/** The data of a run at its start. */
export const initialState = (
  input: AgentInput | undefined,
  now: number,
  {
    totalMs,
    limits,
    policy,
  }: Pick<ResolvedConfig, 'totalMs' | 'limits'> & Partial<Pick<ResolvedConfig, 'policy'>>,
): StreamingState => {
  const { history, prompt, options, failure } = readInput(input, limits, policy)
  return {
    version: snapshotVersion,
    history,
    messages: prompt,
    options,
    step: 0,
    answer: emptyAnswer(now, false),
    request: { modelIndex: 0, attempt: 0, retryAt: 0, prepared: null },
    round: noRound,
    remembered: [],
    totals: { ...nothingYet, ...prefixOf(input, failure ? [] : history) },
    paused: null,
    draft: null,
    bounds: noBounds,
    window: unknownWindow,
    steering: [],
    deadlineAt: totalMs === undefined ? null : now + totalMs,
    failure,
    abortReason: '',
  }
}

/** The request before, if the conversation has one. */
const prefixOf = (
  input: AgentInput | undefined,
  history: readonly ChatMessage[],
): { prefix?: RequestPrefix } => {
  const prefix = prefixFrom(input?.prefix) ?? requestBefore(history)
  return prefix ? { prefix } : {}
}

type RunInput = {
  history: ChatMessage[]
  prompt: ChatMessage[]
  options: RunOptions
  failure: ErrorData | null
}

/**
 * Reads the input of a run, or the reason why it cannot start. The input is copied: if a tool or another run changes
 * the given history, this run does not change.
 */
const readInput = (
  input: AgentInput | undefined,
  ofAgent: RunLimits,
  policy: ResolvedPolicy | undefined,
): RunInput => {
  if (!isGiven(input)) {
    const failure = refusal("The input of a run must be an object: write { prompt: '…' }.")
    return { history: [], prompt: [], options: optionsOf({}, ofAgent), failure }
  }
  try {
    const options = { ...optionsOf(input ?? {}, ofAgent), ...policyOptions(input ?? {}, policy) }
    const unknown =
      unknownOption('The input of a run', input ?? {}, inputNames) ??
      unknownOption('settings', options.settings, settingRules)
    if (unknown !== undefined) return { history: [], prompt: [], options, failure: refusal(unknown) }
    if (isText(input)) {
      const asked: ChatMessage = { role: 'user', parts: [textPart(input.prompt)] }
      return { history: [asked], prompt: [asked], options, failure: policyProblem(input, policy) }
    }
    const history = messagesOf(input?.history ?? [])
    const prompt = messagesOf(promptMessage(input ?? {}))
    const all = [...history, ...prompt]
    return { history: all, prompt, options, failure: policyProblem(input, policy) ?? inputProblem(all) }
  } catch (thrown) {
    const failure = refusal(`The input is not usable: it holds ${describeThrown(thrown)}.`)
    return { history: [], prompt: [], options: optionsOf({}, ofAgent), failure }
  }
}

const isGiven = (input: unknown): boolean => input === undefined || isJsonObject(input)

const inputNames: Record<keyof AgentInput, true> = {
  prompt: true,
  attachments: true,
  metadata: true,
  prefix: true,
  history: true,
  outputSchema: true,
  id: true,
  system: true,
  settings: true,
  maxSteps: true,
  limits: true,
  policy: true,
  unasked: true,
  hasContext: true,
  // The run has taken it out by now.
  context: true,
}

const optionsOf = (input: AgentInput, ofAgent: RunLimits): RunOptions => {
  const { id = '', outputSchema = null, system = null, settings = {}, maxSteps, limits = {} } = input
  if (typeof id !== 'string') throw new TypeError('an id that is not a string')
  if (system !== null && typeof system !== 'string')
    throw new TypeError('a system prompt that is not a string')
  if (!isJsonObject(settings)) throw new TypeError('settings that are not an object')
  if (maxSteps !== undefined && (!Number.isInteger(maxSteps) || maxSteps < 1))
    throw new TypeError(`maxSteps of ${String(maxSteps)}, which is not a whole number, 1 or more`)
  if (!areLimits(limits)) throw new TypeError('limits that are not amounts')
  return {
    id,
    outputSchema,
    system,
    settings: copyJson(settings) as GenerationSettings,
    limits: finiteLimits({ ...ofAgent, ...(maxSteps !== undefined && { steps: maxSteps }), ...limits }),
    ...(input.hasContext === true && { hasContext: true }),
  }
}

/**
 * The policy that the run continues. It is kept even if it cannot be continued: the next run must not begin without it.
 */
const policyOptions = (
  { policy: stored, unasked }: AgentInput,
  policy: ResolvedPolicy | undefined,
): Pick<RunOptions, 'policy' | 'unasked'> => {
  if (!policy) return {}
  if (unasked !== undefined && !Array.isArray(unasked))
    throw new TypeError('policy questions to skip that are not a list')
  const asked = unasked === undefined ? {} : { unasked: [...unasked] }
  if (stored === undefined) return asked
  if (!isJsonObject(stored)) throw new TypeError('a policy that is not an object')
  return { ...asked, policy: copyJson(stored) as JsonObject }
}

/** A policy that cannot be continued is refused, and the conversation kept: without it, rules would be forgotten. */
const policyProblem = (
  input: AgentInput | undefined,
  policy: ResolvedPolicy | undefined,
): ErrorData | null => {
  if (!policy || input?.policy === undefined) return null
  const flaw = policyFlaw(policy.machine, input.policy)
  return flaw === undefined
    ? null
    : refusal(`The input is not usable: it holds a policy that cannot be continued: ${flaw}.`)
}

/** A text alone needs neither a copy nor a check. */
const isText = (input: AgentInput | undefined): input is { prompt: string } =>
  typeof input?.prompt === 'string' &&
  input.history === undefined &&
  input.attachments === undefined &&
  input.metadata === undefined

const messagesOf = (messages: readonly ChatMessage[]): ChatMessage[] => {
  if (!Array.isArray(messages)) throw new TypeError('a history that is not a list of messages')
  // What is wrong with its messages is for validateHistory to say.
  return copyJson(messages) as ChatMessage[]
}

const promptMessage = ({ prompt = [], attachments = [], metadata }: AgentInput): ChatMessage[] => {
  const parts = typeof prompt === 'string' ? [textPart(prompt)] : prompt
  if (!Array.isArray(parts)) throw new TypeError('a prompt that is neither a string nor a list of parts')
  if (!Array.isArray(attachments)) throw new TypeError('attachments that are not a list of parts')
  if (metadata !== undefined && !isJsonObject(metadata)) throw new TypeError('metadata that is not an object')
  const all = [...parts, ...attachments]
  return all.length > 0 ? [{ role: 'user', parts: all, ...(metadata && { metadata }) }] : []
}

const refusal = (message: string): ErrorData => ({ name: 'ConfigurationError', message })

const inputProblem = (history: readonly ChatMessage[]): ErrorData | null => {
  const fatal = validateHistory(history).filter(isFatal)
  if (fatal.length > 0) {
    const list = fatal.map(({ index, message }) => `message ${index}: ${message}`).join(' ')
    return refusal(`The history is not usable. ${list} validateHistory() lists all problems.`)
  }
  return lastSaid(history)?.role === 'user'
    ? null
    : refusal('There is nothing to answer: give a prompt, or a history that ends with a user message.')
}
