import { lastSaid } from '../../src/messages/compaction.ts'
import { describeThrown } from '../../src/messages/errors.ts'
import { appended } from '../../src/messages/growing.ts'
import { copyJson, isJsonObject, stableJson } from '../../src/messages/json.ts'
import {
  type ChatMessage,
  type ToolCallPart,
  type ToolResultPart,
  textPart,
  toolCallsOf,
  toolResultsOf,
} from '../../src/messages/messages.ts'
import { addUsage, type PendingCall, type Usage } from '../../src/messages/result.ts'
import { isThenable } from '../../src/tools/isThenable.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { errorResult, misfit, toolResultOf, unknownTool } from '../../src/tools/toolResult.ts'
import type { AgentCommand, AgentEvent } from '../agent/events.ts'
import { refusedCalls } from '../agent/limits.ts'
import { noRound, type Remembered, type StreamingState, type ToolRound } from '../agent/streamingState.ts'
import type { ToolServiceInput } from './toolProgress.ts'

type Change = Partial<StreamingState>
type ApprovalCommand = Omit<Extract<AgentCommand, { type: 'tool.approve' }>, 'type'>

export const lastMessage = (state: StreamingState): ChatMessage | undefined => lastSaid(state.history)

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

/** What happens to each call is decided here, once: it runs, a person is asked, or it is refused. */
export const beginRound = (
  state: StreamingState,
  tools: ReadonlyMap<string, Tool>,
  context: unknown,
  id: string,
): ToolRound => {
  const offered = state.request.prepared?.tools ?? [...tools.keys()]
  const isOffered = new Set(offered)
  const round: ToolRound = {
    ...noRound,
    id,
    pendingApprovals: [],
    cleared: [],
    external: [],
    ending: [],
  }
  const results: ToolResultPart[] = []
  const calls = currentCalls(state)
  const refused = refusedCalls(state, calls)
  const decide = (call: ToolCallPart, tool: Tool | undefined) => {
    const excess = refused.get(call.id)
    if (excess !== undefined) return errorResult(call, excess)
    const isHidden = tool !== undefined && !isOffered.has(call.name)
    return isHidden ? unknownTool(call, offered) : decideOn(call, tool, state.remembered, context)
  }
  for (const call of calls) {
    const tool = tools.get(call.name)
    const decision = decide(call, tool)
    if (decision === 'ask') round.pendingApprovals.push(call.id)
    else if (decision === 'run') round.cleared.push(call.id)
    else results.push(decision)
    if (tool?.execute === null) round.external.push(call.id)
    if (tool?.endsRun) round.ending.push(call.id)
  }
  return { ...round, results: appended([], results) }
}

/**
 * Decided on the arguments the tool would get. If that cannot be decided at once, or the check throws, a person is
 * asked: that is the safe choice. Arguments that do not fit are refused for good: a call without approval must not run,
 * even if it would fit later.
 */
const decideOn = (
  call: ToolCallPart,
  tool: Tool | undefined,
  remembered: readonly Remembered[],
  context: unknown,
): 'run' | 'ask' | ToolResultPart => {
  if (!tool) return 'run'
  const isExternal = tool.execute === null
  const rule = tool.needsApproval
  if (rule === false && !isExternal) return 'run'
  if (call.argumentsError !== undefined) return errorResult(call, call.argumentsError)
  try {
    const validation = tool.validate(copyJson(call.arguments))
    if (isThenable(validation)) {
      ignoreRejection(validation)
      return rule === false || isRemembered(call, remembered) ? 'run' : 'ask'
    }
    if (!validation.ok) return misfit(call, validation.problem)
    if (rule === false || isRemembered(call, remembered)) return 'run'
    return rule === true || isAsked(rule(validation.value, { context })) ? 'ask' : 'run'
  } catch {
    return 'ask'
  }
}

/** A person is asked for anything but a clear no, and a promise is not one. */
const isAsked = (answer: unknown): boolean => {
  ignoreRejection(answer)
  return Boolean(answer)
}

const ignoreRejection = (given: unknown): void => void Promise.resolve(given).catch(() => {})

const isRemembered = (call: ToolCallPart, remembered: readonly Remembered[]): boolean =>
  remembered.some(
    (each) =>
      each.tool === call.name && (each.arguments === null || each.arguments === stableJson(call.arguments)),
  )

/** The calls that a person must still decide on. */
export const pendingCalls = (state: StreamingState): ToolCallPart[] => {
  const pending = new Set(state.round.pendingApprovals)
  return currentCalls(state).filter(({ id }) => pending.has(id))
}

/** The same, as a person is asked about them. */
export const askedCalls = (state: StreamingState): PendingCall[] => {
  const isInDoubt = new Set(state.round.inDoubt)
  return pendingCalls(state).map((call) => ({
    ...call,
    kind: 'approval',
    ...(isInDoubt.has(call.id) && { inDoubt: true }),
  }))
}

/** What the executor is given. */
export const executorInput = (state: StreamingState): ToolServiceInput => ({
  calls: callsToRun(state),
  run: state.options.id,
  round: state.round.id,
  interruptions: state.round.interruptions,
  runs: state.round.runs,
})

/** Calls that may or may not have taken effect: a person decides, as on those that need an approval. */
export const interrupted = (
  { round }: StreamingState,
  { inDoubt, interruptions, runs, results }: Extract<AgentEvent, { type: 'tool.interrupted' }>,
): { change: ToolRound; fresh: ToolResultPart[] } => {
  const fresh = freshResults({ round }, results)
  const change: ToolRound = {
    ...round,
    pendingApprovals: [...inDoubt],
    cleared: round.cleared.filter((id) => !inDoubt.includes(id)),
    inDoubt: [...new Set([...round.inDoubt, ...inDoubt])],
    interruptions,
    runs,
    results: appended(round.results, fresh),
  }
  return { change, fresh }
}

/** The calls of the round that still have to run, with the arguments they run with. */
export const callsToRun = (state: StreamingState): ToolCallPart[] => {
  const isExternal = new Set(state.round.external)
  return openCalls(state).filter(({ id }) => !isExternal.has(id))
}

/** The calls of the round that still wait for their answer from outside. */
export const externalCalls = (state: StreamingState): ToolCallPart[] => {
  const isExternal = new Set(state.round.external)
  return openCalls(state).filter(({ id }) => isExternal.has(id))
}

/** The calls that may run and have no result yet. */
const openCalls = (state: StreamingState): ToolCallPart[] => {
  const answered = new Set(state.round.results.flat().map(({ id }) => id))
  return clearedCalls(state).filter(({ id }) => !answered.has(id))
}

/** The calls that may run, with the arguments they run with. */
export const clearedCalls = (state: StreamingState): ToolCallPart[] => {
  const { cleared, edited } = state.round
  const isCleared = new Set(cleared)
  return currentCalls(state)
    .filter(({ id }) => isCleared.has(id))
    .map((call) => {
      const own = Object.hasOwn(edited, call.id) ? edited[call.id] : undefined
      return own ? { type: 'toolCall', id: call.id, name: call.name, arguments: own } : call
    })
}

export const isAfterTools = (state: StreamingState): boolean => lastResults(state).length > 0

/** Those of some results that the round does not have yet. */
export const freshResults = (
  { round }: Pick<StreamingState, 'round'>,
  results: readonly ToolResultPart[],
): ToolResultPart[] => {
  const known = new Set(round.results.flat().map(({ id }) => id))
  return results.filter(({ id }) => !known.has(id))
}

/** What the executor reports: results, calls that start, and what the tools used of models. */
export const progress = (
  { round, totals }: StreamingState,
  results: readonly ToolResultPart[],
  calls: readonly ToolCallPart[],
  usage?: Usage,
): Change => ({
  round: {
    ...round,
    // The executor has taken them over.
    runs: {},
    started: appended(
      round.started,
      calls.map(({ id }) => id),
    ),
    results: appended(round.results, results),
  },
  ...(usage && { totals: { ...totals, usage: addUsage(totals.usage ?? undefined, usage) ?? null } }),
})

/** A person has approved a call, and with it perhaps others of the run. */
export const approve = (
  state: StreamingState,
  { callId, arguments: edited, remember, except }: ApprovalCommand,
): Change => {
  const call = currentCalls(state).find(({ id }) => id === callId)
  if (!call) return {}
  const own = isJsonObject(edited) ? (copyJson(edited) as typeof edited) : undefined
  const args = own ?? call.arguments
  const remembered: Remembered[] =
    remember === 'tool' || remember === 'arguments'
      ? [...state.remembered, { tool: call.name, arguments: remember === 'tool' ? null : stableJson(args) }]
      : state.remembered
  const isApart = new Set(Array.isArray(except) ? except : [])
  // What may run need not run twice: a call in doubt is decided on by itself.
  const isInDoubt = new Set(state.round.inDoubt)
  const isApproved = ({ id, ...each }: ToolCallPart) =>
    id === callId || (!isApart.has(id) && !isInDoubt.has(id) && isRemembered({ id, ...each }, remembered))
  const approved = new Set(
    pendingCalls(state)
      .filter(isApproved)
      .map(({ id }) => id),
  )
  const { round } = state
  return {
    remembered,
    round: {
      ...round,
      pendingApprovals: round.pendingApprovals.filter((id) => !approved.has(id)),
      cleared: [...round.cleared, ...approved],
      ...(own && { edited: { ...round.edited, [callId]: own } }),
    },
  }
}

/** A call that was decided on without being run has its result. */
export const withResult = ({ round }: StreamingState, result: ToolResultPart): ToolRound => ({
  ...round,
  pendingApprovals: round.pendingApprovals.filter((id) => id !== result.id),
  results: appended(round.results, [result]),
})

export const rejectedResult = (
  state: StreamingState,
  callId: string,
  reason = 'no reason given',
): ToolResultPart => ({
  ...errorResult(
    namedCall(state, callId),
    state.round.inDoubt.includes(callId)
      ? `The process ended while this tool was running; a person treats it as failed: ${describeThrown(reason)}`
      : `A person rejected this call: ${describeThrown(reason)}`,
  ),
  rejected: true,
})

/** A result that came from outside. It may be made of anything. */
export const answeredResult = (
  state: StreamingState,
  { callId, result, isError }: Extract<AgentCommand, { type: 'tool.answer' }>,
): ToolResultPart => {
  const call = namedCall(state, callId)
  try {
    return { ...toolResultOf(call, result), ...(isError === true && { isError }) }
  } catch (thrown) {
    return errorResult(call, `The answer cannot be used: ${describeThrown(thrown)}`)
  }
}

const namedCall = (state: StreamingState, callId: string): { id: string; name: string } => {
  const call = currentCalls(state).find(({ id }) => id === callId)
  return { id: callId, name: call?.name ?? '' }
}

/** The one user message that answers a round: every result, in call order, then steering messages, and a note. */
export const resultMessage = (state: StreamingState, note?: string): ChatMessage => {
  const results = new Map(state.round.results.flat().map((result) => [result.id, result]))
  const calls = currentCalls(state)
  const missing = missingResult(state)
  return {
    role: 'user',
    parts: [
      ...calls.map((call) => results.get(call.id) ?? missing(call)),
      ...calls.flatMap(({ id, name }) =>
        Object.hasOwn(state.round.edited, id) ? [textPart(editNote(name, state.round.edited[id]))] : [],
      ),
      ...state.steering.flat().map(textPart),
      ...(note === undefined ? [] : [textPart(note)]),
    ],
  }
}

/** The history keeps what the model asked for, so it must also say that something else ran. */
const editNote = (name: string, args: unknown): string =>
  `A person changed the arguments of the call of "${name}" before it ran: ${JSON.stringify(args)}`

/** The honest answer for a call that was cut short: it never ran, or its effect is unknown. */
export const missingResult = ({ round }: StreamingState): ((call: ToolCallPart) => ToolResultPart) => {
  // One that was cut off before had started, whether or not it was noted then.
  const started = new Set([...round.started.flat(), ...Object.keys(round.interruptions)])
  return (call) =>
    errorResult(
      call,
      started.has(call.id)
        ? 'The run was interrupted while this tool was running; whether it took effect is unknown.'
        : 'The run was interrupted before this tool started; it was not run.',
    )
}

/** Whether a tool that ends the run has succeeded. */
export const isRunEnded = (state: StreamingState): boolean => {
  const { ending } = state.round
  return lastResults(state).some(({ id, isError }) => !isError && ending.includes(id))
}

export const steeringMessage = (state: StreamingState): ChatMessage => ({
  role: 'user',
  parts: state.steering.flat().map(textPart),
})
