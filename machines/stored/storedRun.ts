import { lastSaid } from '../../src/messages/compaction.ts'
import { isJsonObject, stableJson } from '../../src/messages/json.ts'
import type { PendingCall } from '../../src/messages/result.ts'
import { isFatal, validateHistory } from '../../src/messages/validateHistory.ts'
import { areLimits } from '../agent/limits.ts'
import { agentStates, factsOf, type StateFacts } from '../agent/states.ts'
import { modelInput, noRound, retryTime, type StreamingState } from '../agent/streamingState.ts'
import { askedCalls, callsToRun, clearedCalls, currentCalls, externalCalls } from '../tools/round.ts'
import type { ToolServiceSnapshot } from '../tools/toolProgress.ts'
import * as is from './shape.ts'

const ids = is.listOf(is.text)

/** Metadata that grows piece by piece. */
const growing = is.listOf(is.fields({ pieces: is.count, value: is.object }))

/** The shape of what all requests add up to. */
export const totalsShape = is.fields({
  responseId: is.text,
  finishReason: is.oneOf(
    'stop',
    'length',
    'toolCalls',
    'contentFilter',
    'maxSteps',
    'limit',
    'aborted',
    'error',
    'unspecified',
  ),
  rawFinishReason: is.orNull(is.text),
  usage: is.orNull(is.recordOf(is.number)),
  metadata: growing,
})

export const failureShape = is.orNull(is.fields({ name: is.text, message: is.text }))

const wireCall = is.fields({ id: is.text, name: is.text, arguments: is.object })

const stateShape = is.fields({
  history: is.listOf(is.message),
  messages: is.listOf(is.message),
  options: is.fields({
    id: is.text,
    outputSchema: is.orNull(is.object),
    system: is.orNull(is.text),
    settings: is.object,
    limits: (name, value) => (areLimits(value) ? undefined : `${name} must be limits`),
  }),
  step: is.count,
  answer: is.fields({
    accumulated: is.fields({
      text: is.text,
      thinking: is.text,
      media: is.runsOf(is.object),
      calls: is.listOf(wireCall),
      metadata: growing,
      opaque: is.object,
      responseId: is.text,
      usage: is.orNull(is.recordOf(is.number)),
      finish: is.orNull(is.fields({ reason: is.text })),
    }),
    chunks: is.count,
    toolCallPieces: is.count,
    newlineDue: is.flag,
    shown: growing,
    askedAt: is.number,
    firstChunkAt: is.orNull(is.number),
  }),
  request: is.fields({
    modelIndex: is.count,
    attempt: is.count,
    retryAt: is.number,
    prepared: is.orNull(is.fields({ provider: is.text, model: is.text, tools: is.orNull(ids) })),
  }),
  round: is.fields({
    pendingApprovals: ids,
    cleared: ids,
    external: ids,
    id: is.text,
    ending: ids,
    inDoubt: ids,
    interruptions: is.recordOf(is.count),
    runs: is.recordOf(is.object),
    edited: is.recordOf(is.object),
    waitingSince: is.number,
    started: is.runsOf(is.text),
    results: is.runsOf(is.part('toolResult')),
  }),
  remembered: is.listOf(is.fields({ tool: is.text, arguments: is.orNull(is.text) })),
  totals: totalsShape,
  paused: is.orNull(is.message),
  draft: is.orNull(is.message),
  bounds: is.fields({
    reached: is.orNull(is.fields({ limit: is.text, used: is.number, allowed: is.number })),
    repeats: is.count,
    emptyAnswers: is.count,
  }),
  window: is.fields({
    tokens: is.orNull(is.number),
    input: is.orNull(is.number),
    ratio: is.orNull(is.number),
    due: is.orNull(is.oneOf('full', 'overflow', 'command')),
    compactedAt: is.listOf(is.count),
    halvings: is.count,
  }),
  steering: is.listOf(is.listOf(is.text)),
  deadlineAt: is.orNull(is.number),
  failure: failureShape,
  abortReason: is.text,
})

/**
 * Says what is wrong with a stored run of the lifecycle chart. It comes from outside, and a call without approval must not
 * run because a list in a file lost an entry: the fields must fit together.
 */
export const storedFlaw = (
  stored: Readonly<Record<string, unknown>>,
  states = agentStates(),
): string | undefined => {
  const { status, value, context, children } = stored
  const flaw = stateShape('', context)
  if (flaw) return flaw
  const state = JSON.stringify(value) ?? 'missing'
  const facts = factsOf(value, states)
  if (status === 'done') return facts?.isFinal ? undefined : `it is done, but its state is ${state}`
  if (!facts?.isStorable) return `its state is ${state}, in which no run can be stored`
  const found = isJsonObject(children) ? children : {}
  const { always, sometimes } = facts.children
  const absent = always.find((id) => !Object.hasOwn(found, id))
  if (absent !== undefined) return `its state is ${state}, but there is no ${absent} in its children`
  const stray = Object.keys(found).find((id) => !always.includes(id) && !sometimes.includes(id))
  if (stray !== undefined) return `its state is ${state}, in which nothing is called "${stray}"`
  const broken = Object.keys(found).find((id) => !isChild(found[id], id))
  if (broken !== undefined) return `its ${broken} is not a stored actor`
  const run = context as StreamingState
  return (
    conversationFlaw(run, facts) ??
    roundFlaw(run, facts, state) ??
    childrenFlaw(run, facts, found as Readonly<Record<string, Child>>)
  )
}

type Child = { snapshot: Readonly<Record<string, unknown>> }

const isChild = (child: unknown, src: string): boolean =>
  isJsonObject(child) && child.src === src && isJsonObject(child.snapshot)

const isSame = (a: unknown, b: unknown): boolean => stableJson(a) === stableJson(b)

/**
 * Checks the children. Their work follows from the run's own data: another request, wait or question is not the
 * run's.
 */
const childrenFlaw = (
  state: StreamingState,
  { isInRound }: StateFacts,
  { model, timer, approver, toolExecutor, summariser }: Readonly<Record<string, Child>>,
): string | undefined => {
  // They end when the run has processed it, and are gone then.
  const ended = [model, timer, summariser].find((child) => child && child.snapshot.status !== 'active')
  if (ended) return 'what it waits for has ended without a result'
  if (model && !isSame(model.snapshot.input, modelInput(state))) return 'its model is asked something else'
  const at = isInRound ? state.deadlineAt : retryTime(state)
  if (timer && !isSame(timer.snapshot.input, { at })) return 'its timer waits for another moment'
  return (approver && approverFlaw(state, approver.snapshot)) ?? executorFlaw(state, toolExecutor?.snapshot)
}

/** Checks the approver: the person who is asked sees what would run, and is asked about all pending calls. */
const approverFlaw = (
  state: StreamingState,
  { calls, decided }: Readonly<Record<string, unknown>>,
): string | undefined => {
  const flaw = is.listOf(is.part('toolCall'))('approver.calls', calls) ?? ids('approver.decided', decided)
  if (flaw) return flaw
  const known = new Set(currentCalls(state).map(stableJson))
  const asked = (calls as PendingCall[]).filter(({ id }) => !(decided as string[]).includes(id))
  const isAsked = new Set(asked.map(stableJson))
  return (calls as PendingCall[]).every(({ kind: _, inDoubt: __, ...call }) => known.has(stableJson(call))) &&
    askedCalls(state).every((call) => isAsked.has(stableJson(call)))
    ? undefined
    : 'its approver is asked about other calls'
}

const conversationFlaw = (state: StreamingState, { isInRound }: StateFacts): string | undefined => {
  const { history, messages } = state
  const own = history.slice(history.length - messages.length)
  if (!isSame(own, messages)) return 'its messages are not the end of its history'
  const before = isInRound ? history.slice(0, -1) : history
  const [problem] = validateHistory(before).filter(isFatal)
  if (problem) return `its history is not valid: ${problem.message}`
  if (isInRound) return currentCalls(state).length > 0 ? undefined : 'its last message has no calls'
  return lastSaid(history)?.role === 'user' ? undefined : 'its history does not end with a user message'
}

const executorShape = is.fields({
  calls: is.listOf(is.part('toolCall')),
  begun: is.runsOf(is.text),
  results: is.runsOf(is.part('toolResult')),
})

/** The executor runs nothing but what was cleared, all of it, and nothing twice. */
const executorFlaw = (
  state: StreamingState,
  snapshot: Readonly<Record<string, unknown>> | undefined,
): string | undefined => {
  if (!snapshot) return undefined
  const flaw = executorShape('toolExecutor', snapshot)
  if (flaw) return flaw
  const { calls, begun, results, run, round } = snapshot as ToolServiceSnapshot
  if (run !== state.options.id || round !== state.round.id)
    return 'its tool executor is that of another round'
  const hasBegun = new Set(begun.flat())
  if (state.round.started.flat().some((id) => calls.some((call) => call.id === id) && !hasBegun.has(id)))
    return 'its tool executor has forgotten a call that was started'
  const cleared = new Set(clearedCalls(state).map(stableJson))
  if (!calls.every((call) => cleared.has(stableJson(call))))
    return 'its tool executor has a call that may not run'
  const taken = new Set(calls.map(({ id }) => id))
  if (taken.size < calls.length) return 'its tool executor has a call twice'
  if (!callsToRun(state).every(({ id }) => taken.has(id))) return 'its tool executor lacks a call'
  const answered = new Set(results.flat().map(({ id }) => id))
  return state.round.results.flat().some(({ id }) => taken.has(id) && !answered.has(id))
    ? 'its tool executor would run a call that has its result'
    : undefined
}

/** Each call of the round is pending, cleared or answered without being run. */
const roundFlaw = (
  state: StreamingState,
  { isInRound, waitsFor }: StateFacts,
  name: string,
): string | undefined => {
  if (!isInRound) {
    const { waitingSince: _, ...round } = state.round
    const { waitingSince: __, ...none } = noRound
    return isSame(round, none) ? undefined : 'it has a tool round while the model answers'
  }
  const { pendingApprovals, cleared, external, ending, edited, inDoubt, interruptions, runs } = state.round
  const started = state.round.started.flat()
  const calls = new Set(currentCalls(state).map(({ id }) => id))
  const answered = state.round.results.flat().map(({ id }) => id)
  const keys = [edited, interruptions, runs].flatMap(Object.keys)
  const named = [pendingApprovals, cleared, external, ending, inDoubt, keys, started, answered].flat()
  const unknown = named.find((id) => !calls.has(id))
  if (unknown !== undefined) return `"${unknown}" is not a call of its last message`
  const isCleared = new Set(cleared)
  const isPending = new Set(pendingApprovals)
  const isAnswered = new Set(answered)
  for (const id of calls) {
    const isDecided = isCleared.has(id) || isAnswered.has(id)
    if (isPending.has(id) === isDecided) return `it is not clear what happens to the call "${id}"`
  }
  if (started.some((id) => !isCleared.has(id) && !inDoubt.includes(id)))
    return 'a call was started that may not run'
  if (Object.keys(edited).some((id) => !isCleared.has(id)))
    return 'the arguments of a call were changed that was not approved'
  if (isPending.size > 0 !== (waitsFor === 'approval'))
    return `its state is ${name}, and ${isPending.size} calls wait for an approval`
  return waitsFor === 'answer' && externalCalls(state).length === 0
    ? 'it waits for external tools, but no call of one is open'
    : undefined
}
