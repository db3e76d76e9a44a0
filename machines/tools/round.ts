import { lastSaid } from '../../src/messages/compaction.ts'
import { appended, countOf } from '../../src/messages/growing.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import {
  type ChatMessage,
  type ToolCallPart,
  type ToolResultPart,
  toolCallsOf,
} from '../../src/messages/messages.ts'
import type { PendingCall } from '../../src/messages/result.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { errorResult } from '../../src/tools/toolResult.ts'
import type { CallCommand, ChildEvent } from '../agent/events.ts'
import type { StreamingState, ToolRound } from '../agent/streamingState.ts'
import { isAbout } from './question.ts'
import { attemptOf, type CallInput } from './toolCall.ts'
import type { ToolServiceInput } from './toolService.ts'

export const lastMessage = (state: StreamingState): ChatMessage | undefined => lastSaid(state.history)

const noCalls: ReadonlyMap<string, ToolCallPart> = new Map()

const byId = new WeakMap<ChatMessage, ReadonlyMap<string, ToolCallPart>>()

/** The calls of the current round, by id. A turn of many calls needs them at every result, so they are read once. */
const callsById = (state: StreamingState): ReadonlyMap<string, ToolCallPart> => {
  const last = lastSaid(state.history)
  if (last?.role !== 'model') return noCalls
  const calls = byId.get(last) ?? new Map(toolCallsOf(last).map((call) => [call.id, call]))
  byId.set(last, calls)
  return calls
}

/** A call of the current round. */
export const callWithId = (state: StreamingState, id: string): ToolCallPart | undefined =>
  callsById(state).get(id)

/** The calls of the current round. */
export const currentCalls = (state: StreamingState): ToolCallPart[] => [...callsById(state).values()]

/** The calls of the round that have to run and have no result, with the arguments they run with. */
export const callsToRun = (state: StreamingState): ToolCallPart[] => {
  const isExternal = new Set(state.round.external)
  return openCalls(state).filter(({ id }) => !isExternal.has(id))
}

const external = new WeakMap<ToolRound, { message: ChatMessage | undefined; calls: ToolCallPart[] }>()

/** The calls of the round that still wait for their answer from outside. Each answer asks for them several times. */
export const externalCalls = (state: StreamingState): readonly ToolCallPart[] => {
  const { round } = state
  if (round.external.length === 0) return []
  const known = external.get(round)
  const message = lastMessage(state)
  if (known && known.message === message) return known.calls
  const isExternal = new Set(round.external)
  const calls = openCalls(state).filter(({ id }) => isExternal.has(id))
  external.set(round, { message, calls })
  return calls
}

/** The calls that were started and have no result, in the order in which they were started. */
export const runningCalls = (state: StreamingState): ToolCallPart[] => {
  const isAnswered = answeredIn(state.round)
  return callsNamed(
    state,
    state.round.started.flat().filter((id) => !isAnswered.has(id)),
  )
}

const openCalls = (state: StreamingState): ToolCallPart[] => {
  const isCleared = new Set(state.round.cleared)
  const isAnswered = answeredIn(state.round)
  const open = [...callsById(state).keys()].filter((id) => isCleared.has(id) && !isAnswered.has(id))
  return callsNamed(state, open)
}

const answeredIn = ({ results }: ToolRound): ReadonlySet<string> =>
  new Set(results.flat().map(({ id }) => id))

/** Calls with the arguments they run with: a person may have changed them. */
const callsNamed = (state: StreamingState, ids: readonly string[]): ToolCallPart[] => {
  if (ids.length === 0) return []
  const calls = callsById(state)
  return ids.flatMap((id) => {
    const call = calls.get(id)
    const edited = ownOf(state.round.edited, id)
    if (!call || !edited) return call ?? []
    return { type: 'toolCall', id, name: call.name, arguments: edited }
  })
}

/** The arguments that a call runs with. */
export const argumentsOf = (state: StreamingState, id: string): JsonObject =>
  ownOf(state.round.edited, id) ?? callWithId(state, id)?.arguments ?? {}

/** A step of the round: its data afterwards, and what listeners get. */
export type RoundStep = {
  round: ToolRound
  /** Results that are new. */
  results: readonly ToolResultPart[]
  /** Calls that start now. */
  calls: ToolCallPart[]
  /** Calls of sub-agents that the run did not wait for before. */
  asked: PendingCall[]
}

/** Calls begin to run in a new executor: nothing is running, and what is left starts in the order of the answer. */
export const beginCalls = (state: StreamingState, concurrency: number): RoundStep => {
  const cleared = openCalls(state).map(({ id }) => id)
  return stepTo(state, { ...state.round, cleared, started: [] }, [], concurrency)
}

/** Calls have finished: others start in their place. */
export const finishCalls = (
  state: StreamingState,
  results: readonly ToolResultPart[],
  concurrency: number,
): RoundStep => stepTo(state, withResults(state.round, results), results, concurrency)

/**
 * A call that had started when the run was stored, and has no result, is in doubt: there is no way to know whether it
 * took effect. Its tool says what happens to it: it runs again, a person is asked, or the model learns that its effect
 * is unknown. While a person is asked, nothing else of the turn runs, and the stored runs of sub-agents are kept.
 */
export const resumeCalls = (
  state: StreamingState,
  tools: ReadonlyMap<string, Pick<Tool, 'onInterrupted'>>,
  runs: ToolRound['runs'],
  concurrency: number,
  resultOf: (key: string) => ToolResultPart | undefined = () => undefined,
): RoundStep => {
  const { round } = state
  const keyOf = (call: ToolCallPart) => attemptOf(callInput(state, call), call.id).idempotencyKey
  const known = runningCalls(state).flatMap((call) => resultOf(keyOf(call)) ?? [])
  const cut = runningCalls(state).filter(({ id }) => !known.some((result) => result.id === id))
  // A call whose arguments could not be read never ran.
  const fate = ({ name, argumentsError }: ToolCallPart) =>
    argumentsError === undefined ? (tools.get(name)?.onInterrupted ?? 'unknown') : 'rerun'
  const lost = cut.filter((call) => fate(call) === 'unknown').map(unknownEffect)
  const again = cut.filter((call) => fate(call) !== 'unknown').map(({ id }) => id)
  const inDoubt = cut.filter((call) => fate(call) === 'ask').map(({ id }) => id)
  const counted = again.map((id) => [id, (ownOf(round.interruptions, id) ?? 0) + 1])
  const interruptions = { ...round.interruptions, ...Object.fromEntries(counted) }
  const results = [...known, ...lost]
  const settled: ToolRound = { ...withResults(round, results), interruptions }
  if (inDoubt.length === 0) {
    const step = beginCalls({ ...state, round: settled }, concurrency)
    return { ...step, results, asked: newlyAwaited(state, { ...state, round: step.round }) }
  }
  const paused: ToolRound = {
    ...settled,
    pendingApprovals: inDoubt,
    cleared: round.cleared.filter((id) => !inDoubt.includes(id)),
    inDoubt: [...new Set([...round.inDoubt, ...inDoubt])],
    runs: results.reduce((kept, { id }) => without(kept, id), runs),
    waiting: {},
    started: [],
  }
  return { round: paused, results, calls: [], asked: [] }
}

/** The result of a call whose process ended while it ran. */
export const unknownEffect = (call: ToolCallPart): ToolResultPart =>
  errorResult(
    call,
    'The process ended while this tool was running; whether it took effect is unknown. Find out before you call it again.',
  )

/** Notes what the sub-agent of a call waits for. */
export const noteWait = (
  state: StreamingState,
  { callId, calls, isAtWork }: Omit<Extract<ChildEvent, { type: 'tool.waiting' }>, 'type'>,
): RoundStep => {
  const { working: before = [], ...round } = state.round
  const isPartly = isAtWork && calls.length > 0
  const isKnown =
    keysOf(ownOf(round.waiting, callId) ?? []) === keysOf(calls) && before.includes(callId) === isPartly
  if (isKnown) return stepTo(state, state.round, [], 0)
  const working = [...before.filter((id) => id !== callId), ...(isPartly ? [callId] : [])]
  const waiting = { ...round.waiting, [callId]: [...calls] }
  return stepTo(state, { ...round, waiting, ...(working.length > 0 && { working }) }, [], 0)
}

const stepTo = (
  state: StreamingState,
  round: ToolRound,
  results: readonly ToolResultPart[],
  concurrency: number,
): RoundStep => {
  const calls = callsToStart({ ...state, round }, concurrency)
  const started = appended(
    round.started,
    calls.map(({ id }) => id),
  )
  const next = calls.length === 0 ? round : { ...round, started }
  return { round: next, results, calls, asked: newlyAwaited(state, { ...state, round: next }) }
}

/** The calls that start next, in their order, if so many may run at the same time. */
export const callsToStart = (state: StreamingState, concurrency: number): ToolCallPart[] => {
  const next = runnable(state.round).slice(countOf(state.round.started), finished(state) + concurrency)
  return callsNamed(state, next)
}

/** True while calls run, or have to run. */
export const isAtWork = (state: StreamingState): boolean => finished(state) < runnable(state.round).length

const runnable = ({ cleared, external }: ToolRound): readonly string[] => {
  if (external.length === 0) return cleared
  const isExternal = new Set(external)
  return cleared.filter((id) => !isExternal.has(id))
}

/** The number of cleared calls that have their result: a call that is not among them had its result before. */
const finished = (state: StreamingState): number =>
  countOf(state.round.results) - (callsById(state).size - state.round.cleared.length)

/** The round with results of calls, of which nothing else is left. */
export const withResults = (round: ToolRound, results: readonly ToolResultPart[]): ToolRound => ({
  ...round,
  pendingApprovals:
    round.pendingApprovals.length === 0
      ? round.pendingApprovals
      : round.pendingApprovals.filter((id) => results.every((result) => result.id !== id)),
  waiting: results.reduce((waiting, { id }) => without(waiting, id), round.waiting),
  commands: results.reduce((commands, { id }) => without(commands, id), round.commands),
  results: appended(round.results, results),
})

/** The input of the executor: everything that is left of the turn. */
export const executorInput = (state: StreamingState): ToolServiceInput => ({
  calls: callsToRun(state),
  run: state.options.id,
  round: state.round.id,
  interruptions: state.round.interruptions,
  runs: state.round.runs,
})

/** The input of the actor of a call. */
export const callInput = ({ options, round }: StreamingState, call: ToolCallPart): CallInput => ({
  call,
  run: options.id,
  round: round.id,
  attempt: 1 + (ownOf(round.interruptions, call.id) ?? 0),
  ...originOf(round, call.id),
})

const originOf = ({ origins }: ToolRound, callId: string): Pick<CallInput, 'origin'> => {
  const origin = origins && ownOf(origins, callId)
  return origin === undefined ? {} : { origin }
}

/** True for a call that was cut off: listeners already know that it has started. */
export const isAnnounced = ({ round }: StreamingState, { id }: ToolCallPart): boolean =>
  ownOf(round.interruptions, id) !== undefined

/** True if nothing is at work: only sub-agents that wait are left. */
export const isWaiting = (state: StreamingState): boolean => {
  const { waiting, working = [] } = state.round
  if (Object.keys(waiting).length === 0) return false
  const running = runningCalls(state)
  const isAsking = ({ id }: ToolCallPart) => (ownOf(waiting, id) ?? []).length > 0 && !working.includes(id)
  return running.length > 0 && running.every(isAsking)
}

/** The calls of sub-agents that the turn waits for: none while anything is at work, and none that is decided on. */
export const waitsFor = (state: StreamingState): PendingCall[] => {
  const open = openOf(state)
  const isPaused = open.every(({ calls, isAtWork }) => calls.length > 0 && !isAtWork)
  return isPaused ? open.flatMap(({ calls }) => calls) : []
}

/** The calls of sub-agents that wait and are not decided on, while others may be at work. */
export const openQuestions = (state: StreamingState): PendingCall[] =>
  openOf(state).flatMap(({ calls }) => calls)

type OpenCalls = { calls: PendingCall[]; isAtWork: boolean }

/** The waits of the calls that run. One that is about to get a decision is at work: it must not be stored as waiting, and run. */
const openOf = (state: StreamingState): OpenCalls[] => {
  const { waiting, working = [], commands } = state.round
  if (Object.keys(waiting).length === 0) return []
  return runningCalls(state).map(({ id }) => {
    const decided = ownOf(commands, id) ?? []
    const isOpen = (call: PendingCall) => !decided.some((command) => decidesOn(command, call))
    const isAtWork = working.includes(id) || decided.length > 0
    return { calls: (ownOf(waiting, id) ?? []).filter(isOpen), isAtWork }
  })
}

const decidesOn = (command: CallCommand, call: PendingCall): boolean =>
  command.callId === call.id && isAbout(command, call)

const newlyAwaited = (before: StreamingState, after: StreamingState): PendingCall[] => {
  const calls = waitsFor(after)
  if (calls.length === 0) return []
  const known = new Set(waitsFor(before).map(keyOf))
  return calls.filter((call) => !known.has(keyOf(call)))
}

const keyOf = ({ kind, id, question = '' }: PendingCall): string => `${kind} ${id} ${question}`

/** Pending calls as a text that can be compared. It has their kinds: a call may wait for its approval, then for its answer. */
export const keysOf = (calls: readonly PendingCall[]): string => JSON.stringify(calls.map(keyOf))

/** The round with a decision for a sub-agent that is not there yet. */
export const withCommand = (round: ToolRound, callId: string, command: CallCommand): ToolRound => ({
  ...round,
  commands: { ...round.commands, [callId]: [...(ownOf(round.commands, callId) ?? []), command] },
})

/** The decisions for a sub-agent that is there again. What it waits for beside them is asked for now. */
export const takeCommands = (
  state: StreamingState,
  callId: string,
): { due: readonly CallCommand[]; step: RoundStep } => {
  const { commands } = state.round
  const due = ownOf(commands, callId) ?? []
  const step = stepTo(state, { ...state.round, commands: without(commands, callId) }, [], 0)
  const isDecided = (call: PendingCall) => due.some((command) => decidesOn(command, call))
  return { due, step: { ...step, asked: step.asked.filter((call) => !isDecided(call)) } }
}

export const ownOf = <T>(record: { readonly [id: string]: T }, id: string): T | undefined =>
  Object.hasOwn(record, id) ? record[id] : undefined

/** A record without an entry; the same record if it has none: a long turn is not copied at each result. */
export const without = <T>(record: { [id: string]: T }, id: string): { [id: string]: T } => {
  if (!Object.hasOwn(record, id)) return record
  const { [id]: _, ...rest } = record
  return rest
}
