import { describeThrown } from '../src/messages/errors.ts'
import { appended } from '../src/messages/growing.ts'
import { copyJson } from '../src/messages/json.ts'
import {
  type ChatMessage,
  type ToolCallPart,
  type ToolResultPart,
  textPart,
  toolCallsOf,
  toolResultsOf,
} from '../src/messages/messages.ts'
import { addUsage, type Usage } from '../src/messages/result.ts'
import { isThenable } from '../src/tools/isThenable.ts'
import type { Tool } from '../src/tools/tool.ts'
import { errorResult, misfit } from '../src/tools/toolExecutor.ts'
import { noRound, type StreamingState, type ToolRound } from './streamingState.ts'

export const lastMessage = (state: StreamingState): ChatMessage | undefined => state.history.at(-1)

/** The calls of the current round. */
export const currentCalls = (state: StreamingState): ToolCallPart[] => {
  const last = lastMessage(state)
  return last?.role === 'model' ? toolCallsOf(last) : []
}

/** The results of the round that has just ended. */
export const lastResults = (state: StreamingState): ToolResultPart[] => {
  const last = lastMessage(state)
  return last ? toolResultsOf(last) : []
}

/** What is to become of each call is decided here, once: it runs, a person is asked, or it is refused. */
export const beginRound = (calls: readonly ToolCallPart[], tools: ReadonlyMap<string, Tool>): ToolRound => {
  const pendingApprovals: string[] = []
  const results: ToolResultPart[] = []
  for (const call of calls) {
    const decision = decideOn(call, tools.get(call.name))
    if (decision === 'ask') pendingApprovals.push(call.id)
    else if (decision !== 'run') results.push(decision)
  }
  return { ...noRound, pendingApprovals, results: appended([], results) }
}

/**
 * Decided on the arguments the tool would get. Where that cannot be told at once, or the check throws, a person is asked:
 * that is the safe side. Arguments that do not fit are refused for good: what nobody approved must not run, even if it
 * would fit later.
 */
const decideOn = (call: ToolCallPart, tool: Tool | undefined): 'run' | 'ask' | ToolResultPart => {
  const rule = tool?.needsApproval ?? false
  if (!tool || rule === false || call.argumentsError !== undefined) return 'run'
  try {
    const validation = tool.validate(copyJson(call.arguments))
    if (isThenable(validation)) {
      ignoreRejection(validation)
      return 'ask'
    }
    if (!validation.ok) return misfit(call, validation.problem)
    return rule === true || isAsked(rule(validation.value)) ? 'ask' : 'run'
  } catch {
    return 'ask'
  }
}

/** A person is asked for anything but a clear no, and a promise is not one. */
const isAsked = (answer: unknown): boolean => {
  if (isThenable(answer)) ignoreRejection(answer)
  return Boolean(answer)
}

const ignoreRejection = (promise: PromiseLike<unknown>): void => void Promise.resolve(promise).catch(() => {})

/** The calls that a person must still decide on. */
export const pendingCalls = (state: StreamingState): ToolCallPart[] =>
  currentCalls(state).filter(({ id }) => state.round.pendingApprovals.includes(id))

/** The calls of the round that still have to run. */
export const callsToRun = (state: StreamingState): ToolCallPart[] => {
  const answered = new Set(state.round.results.flat().map(({ id }) => id))
  return currentCalls(state).filter(({ id }) => !answered.has(id))
}

export const isAfterTools = (state: StreamingState): boolean => lastResults(state).length > 0

/** What the executor reports: results, calls that start, and what the tools used of models. */
export const progress = (
  { round, totals }: StreamingState,
  results: readonly ToolResultPart[],
  calls: readonly ToolCallPart[],
  usage?: Usage,
): Partial<StreamingState> => ({
  round: {
    ...round,
    started: appended(
      round.started,
      calls.map(({ id }) => id),
    ),
    results: appended(round.results, results),
  },
  ...(usage && { totals: { ...totals, usage: addUsage(totals.usage ?? undefined, usage) ?? null } }),
})

/** A person has decided on a call. */
export const withoutPending = ({ round }: StreamingState, callId: string): ToolRound => ({
  ...round,
  pendingApprovals: round.pendingApprovals.filter((id) => id !== callId),
})

export const rejectedResult = (
  state: StreamingState,
  callId: string,
  reason = 'no reason given',
): ToolResultPart => {
  const call = currentCalls(state).find(({ id }) => id === callId)
  return errorResult(
    { id: callId, name: call?.name ?? '' },
    `A person rejected this call: ${describeThrown(reason)}`,
  )
}

/** The one user message that answers a round: every result, in call order, then what was steered meanwhile. */
export const resultMessage = (state: StreamingState): ChatMessage => {
  const results = new Map(state.round.results.flat().map((result) => [result.id, result]))
  const missing = missingResult(state)
  return {
    role: 'user',
    parts: [
      ...currentCalls(state).map((call) => results.get(call.id) ?? missing(call)),
      ...state.steering.map(textPart),
    ],
  }
}

/** The honest answer for a call that was cut short: it never ran, or nobody knows how far it came. */
export const missingResult = ({ round }: StreamingState): ((call: ToolCallPart) => ToolResultPart) => {
  const started = new Set(round.started.flat())
  return (call) =>
    errorResult(
      call,
      started.has(call.id)
        ? 'The run was interrupted while this tool was running; whether it took effect is unknown.'
        : 'The run was interrupted before this tool started; it was not run.',
    )
}

export const steeringMessage = (state: StreamingState): ChatMessage => ({
  role: 'user',
  parts: state.steering.map(textPart),
})
