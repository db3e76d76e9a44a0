import { dollars } from '../../src/messages/dollars.ts'
import { isJsonObject, type JsonObject, stableJson } from '../../src/messages/json.ts'
import {
  type ChatMessage,
  type ToolCallPart,
  toolCallsOf,
  toolResultsOf,
} from '../../src/messages/messages.ts'
import type { PendingCall, Usage } from '../../src/messages/result.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { compactionsInARow } from '../compaction/contextWindow.ts'
import { familyUsage } from '../tasks/tasks.ts'
import { asQuestion } from '../tools/question.ts'
import type { StreamingState } from './streamingState.ts'

/** Limits of a run. Except for `steps`, a limit that is left out does not apply. */
export type RunLimits = {
  /** Model calls. Default: 25. */
  steps?: number
  /** Tokens of all requests, input and output. */
  tokens?: number
  /** US dollars, if the provider or `price` gives the cost of a step. */
  cost?: number
  /** Tool calls; a call beyond them is refused. */
  toolCalls?: number
  /** The number of times that the same calls may give the same results, in a row or in turns of up to four. */
  repeats?: number
  /** Calls of single tools, by name; a call beyond them is refused, and the run continues. */
  perTool?: { [tool: string]: number }
}

/** The behaviour of a run at a limit: it ends, answers once more without tools, or asks a person. */
export type AtLimit = 'stop' | 'answer' | 'ask'

/** The limit that a run has reached. `compactions`: the conversation was compacted too often. */
export type LimitReached = {
  limit: 'steps' | 'tokens' | 'cost' | 'toolCalls' | 'repeats' | 'compactions'
  used: number
  allowed: number
}

const none = Number.POSITIVE_INFINITY

/** The first limit that is reached. */
export const reachedLimit = (state: StreamingState): LimitReached | undefined => {
  const { steps = none, tokens = none, cost = none, toolCalls, repeats = none } = state.options.limits
  const usage = familyUsage(state)
  const calls = toolCalls === undefined ? 0 : callsIn(state.messages).length
  const limits: LimitReached[] = [
    { limit: 'steps', used: state.step, allowed: steps },
    { limit: 'tokens', used: tokensIn(usage), allowed: tokens },
    { limit: 'cost', used: usage?.cost ?? 0, allowed: cost },
    { limit: 'toolCalls', used: calls, allowed: toolCalls ?? none },
    // The model gets a note when it is reached, and one more chance.
    { limit: 'repeats', used: state.bounds.repeats - 1, allowed: repeats },
    { limit: 'compactions', used: compactionsInARow(state), allowed: 1 },
  ]
  return limits.find(({ used, allowed }) => used >= allowed)
}

/** Says whether a run and its tasks have used the tokens or the dollars that they may. */
export const isSpent = (state: StreamingState): boolean => {
  const { tokens = none, cost = none } = state.options.limits
  const usage = familyUsage(state)
  return tokensIn(usage) >= tokens || (usage?.cost ?? 0) >= cost
}

const tokensIn = (usage: Usage | null): number =>
  usage?.totalTokens ?? (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0)

const callsIn = (messages: readonly ChatMessage[]): ToolCallPart[] => messages.flatMap(toolCallsOf)

/** The reasons why calls beyond a limit are refused, by call id. */
export const refusedCalls = (
  { messages, options: { limits } }: StreamingState,
  calls: readonly ToolCallPart[],
): ReadonlyMap<string, string> => {
  const { toolCalls = none, perTool = {} } = limits
  const most = new Map(Object.entries(perTool))
  const refused = new Map<string, string>()
  // Most runs have no such limit, and need not count what may be a long history.
  if (toolCalls === none && most.size === 0) return refused
  const before = callsIn(messages.slice(0, -1))
  const counts = new Map<string, number>()
  for (const { name } of before) counts.set(name, (counts.get(name) ?? 0) + 1)
  calls.forEach(({ id, name }, index) => {
    const ofTool = (counts.get(name) ?? 0) + 1
    counts.set(name, ofTool)
    const mostOfTool = most.get(name) ?? none
    if (before.length + index >= toolCalls)
      refused.set(id, `This run may make ${toolCalls} tool calls at most: the call was not made.`)
    else if (ofTool > mostOfTool)
      refused.set(id, `This run may call "${name}" ${mostOfTool} times at most: the call was not made.`)
  })
  return refused
}

const longestPeriod = 4

/**
 * Counts how often in a row the last rounds were made of the same calls with the same results: one round again and
 * again, or up to four in turns.
 */
export const repeatsIn = (
  { messages, options: { limits } }: StreamingState,
  results: ChatMessage,
  tools: ReadonlyMap<string, Tool>,
): number => {
  if (limits.repeats === undefined) return 0
  const rounds = lastRounds([...messages, results], (limits.repeats + 2) * longestPeriod, tools)
  const counts = Array.from({ length: longestPeriod }, (_, index) => timesIn(rounds, index + 1))
  return Math.max(...counts)
}

/** The last rounds, the newest first. A round with a call that may be repeated is like no other. */
const lastRounds = (
  messages: readonly ChatMessage[],
  most: number,
  tools: ReadonlyMap<string, Tool>,
): string[] => {
  const rounds: string[] = []
  let results: unknown[] = []
  for (const message of messages.toReversed()) {
    const calls = toolCallsOf(message)
    if (rounds.length === most || calls.some(({ name }) => tools.get(name)?.repeatable)) break
    if (calls.length > 0)
      rounds.push(stableJson([calls.map(({ name, arguments: args }) => [name, args]), results]))
    // The message before it has the calls.
    results = toolResultsOf(message).map(({ result, parts }) => [result, parts])
  }
  return rounds
}

const timesIn = (rounds: readonly string[], period: number): number => {
  const same = rounds.findIndex((round, index) => round !== rounds[index + period])
  return Math.floor((same + period) / period)
}

/** The note for a model that goes round in circles; undefined if it does not. */
export const repeatNote = ({ options: { limits } }: StreamingState, repeats: number): string | undefined =>
  repeats === limits.repeats
    ? `You have now made the same calls with the same results ${repeats} times. Try something else, or answer with what you have.`
    : undefined

/** The question whether a run may continue, in the form of a pending call: a yes raises the limit, a no ends the run. */
export const limitQuestion = (state: StreamingState): PendingCall[] => {
  const { reached } = state.bounds
  if (!reached) return []
  return [
    asQuestion(state, { type: 'toolCall', id: limitId, name: 'limit', arguments: { ...reached } }, 'limit'),
  ]
}

/** The limit that such a question is about. It may have been stored. */
export const reachedIn = (question: JsonObject): LimitReached => ({
  limit: String(question.limit) as LimitReached['limit'],
  used: Number(question.used),
  allowed: Number(question.allowed),
})

export const limitId = 'limit'

/** Says whether a value can be the limits of a run. */
export const areLimits = (value: unknown): value is RunLimits =>
  isJsonObject(value) && Object.entries(value).every(([name, given]) => isLimit(name, given))

const names: ReadonlySet<string> = new Set(['steps', 'tokens', 'cost', 'toolCalls', 'repeats'])

const usualSteps = 25

/** The limits of an agent's runs, without other limits such as the size of an answer. */
export const limitsOf = ({ limits = {}, maxSteps }: { limits?: RunLimits; maxSteps?: number }): RunLimits => {
  const own = Object.entries(limits).filter(([name]) => names.has(name) || name === 'perTool')
  return {
    steps: maxSteps ?? usualSteps,
    ...Object.fromEntries(own.filter(([, value]) => value !== undefined)),
  }
}

/** Leaves out limits that are infinite: JSON has no `Infinity`, and no value means no limit. */
export const finiteLimits = (limits: RunLimits): RunLimits =>
  Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== Number.POSITIVE_INFINITY))

const isLimit = (name: string, value: unknown): boolean =>
  name === 'perTool'
    ? isJsonObject(value) && Object.values(value).every(isAmount)
    : names.has(name) && isAmount(value)

const isAmount = (value: unknown): boolean => typeof value === 'number' && value >= 0

/** Lets a run use more: up to the given limits, or else as much again. */
export const raised = (state: StreamingState, limits: unknown): Partial<StreamingState> => {
  const { options, window } = state
  const { question: _, ...bounds } = state.bounds
  const { limit, used, allowed } = bounds.reached ?? { limit: 'steps', used: 0, allowed: 0 }
  const again = limit === 'compactions' ? {} : { [limit]: used + Math.max(1, allowed) }
  const given: RunLimits = areLimits(limits) && Object.keys(limits).length > 0 ? limits : again
  return {
    options: { ...options, limits: finiteLimits({ ...options.limits, ...given }) },
    bounds: { ...bounds, reached: null, repeats: 0 },
    window: { ...window, compactedAt: limit === 'compactions' ? [] : window.compactedAt },
  }
}

/** A limit in a sentence for people: `The run has used 25 of 25 steps.` */
export const limitSentence = ({ limit, used, allowed }: LimitReached): string => {
  const amounts = `${used.toLocaleString('en-US')} of ${allowed.toLocaleString('en-US')}`
  switch (limit) {
    case 'cost':
      return `The run has cost ${dollars(used)} of ${dollars(allowed)}.`
    case 'toolCalls':
      return `The run has made ${amounts} tool calls.`
    case 'repeats':
      return 'The run keeps making the same calls with the same results.'
    case 'compactions':
      return 'The conversation does not fit: it had to be compacted again and again.'
    default:
      return `The run has used ${amounts} ${limit === 'tokens' ? 'tokens' : 'steps'}.`
  }
}
