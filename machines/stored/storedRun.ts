import { lastSaid } from '../../src/messages/compaction.ts'
import type { ErrorData } from '../../src/messages/errors.ts'
import type { MergedPieces } from '../../src/messages/growing.ts'
import { isJsonObject, type JsonObject, stableJson } from '../../src/messages/json.ts'
import { type PendingCall, pendingKinds, type Usage, type Warning } from '../../src/messages/result.ts'
import { isFatal, validateHistory } from '../../src/messages/validateHistory.ts'
import type { Accumulated } from '../../src/model/accumulator.ts'
import type { CallCommand, PreparedRequest } from '../agent/events.ts'
import { areLimits, type LimitReached, type RunLimits } from '../agent/limits.ts'
import { agentStates, factsOf, type StateFacts } from '../agent/states.ts'
import {
  type Answer,
  type Bounds,
  noRound,
  type Remembered,
  type RunOptions,
  type Steer,
  type StreamingState,
  type Task,
  type ToolRound,
  type Totals,
  type Window,
} from '../agent/streamingState.ts'
import { prefixShape, sentShape } from '../model/requestPrefix.ts'
import type { Due } from '../tools/expiry.ts'
import { currentCalls, externalCalls } from '../tools/round.ts'
import * as is from './shape.ts'
import { type Child, childrenFlaw } from './storedChildren.ts'

const ids = is.listOf(is.text)

const usage = is.orNull(is.like<Usage>(is.recordOf(is.number)))

/** Metadata that grows piece by piece. */
const growing: is.Shape<MergedPieces<JsonObject>> = is.listOf(
  is.fields({ pieces: is.count, value: is.object }),
)

const finishReason = is.oneOf(
  'stop',
  'length',
  'toolCalls',
  'contentFilter',
  'maxSteps',
  'limit',
  'aborted',
  'error',
  'unspecified',
)

const warning = is.fields<Warning>({
  setting: is.text,
  change: is.oneOf('omitted', 'replaced', 'added', 'deprecated'),
  message: is.text,
  provider: is.text,
  model: is.text,
  refusal: is.optional(is.text),
})

/** The shape of what all requests add up to. */
export const totalsShape = is.fields<Totals>({
  responseId: is.text,
  finishReason,
  rawFinishReason: is.orNull(is.text),
  usage,
  metadata: growing,
  warnings: is.optional(is.listOf(warning)),
  prefix: is.optional(prefixShape),
})

export const failureShape = is.orNull(is.like<ErrorData>(is.fields({ name: is.text, message: is.text })))

const idleText = is.fields<Exclude<Steer, string>>({ idle: is.text, metadata: is.optional(is.object) })

const steer: is.Shape<Steer> = (name, value) =>
  typeof value === 'string' ? undefined : idleText(name, value)

const optionsShape = is.fields<RunOptions>({
  id: is.text,
  outputSchema: is.orNull(is.object),
  system: is.orNull(is.text),
  settings: is.object,
  limits: is.like<RunLimits>((name, value) => (areLimits(value) ? undefined : `${name} must be limits`)),
  policy: is.optional(is.object),
  unasked: is.optional(is.listOf(is.oneOf('prompt', 'answer'))),
  accepted: is.optional(is.count),
  steering: is.optional(is.listOf(steer)),
  hasContext: is.optional(is.flag),
})

const answerShape = is.fields<Answer>({
  accumulated: is.fields<Accumulated>({
    text: is.text,
    thinking: is.text,
    media: is.like<Accumulated['media']>(is.runsOf(is.object)),
    calls: is.listOf(is.fields({ id: is.text, name: is.text, arguments: is.object })),
    metadata: growing,
    opaque: is.object,
    responseId: is.text,
    usage,
    finish: is.orNull(is.fields({ reason: is.like<Totals['finishReason']>(is.text) })),
  }),
  chunks: is.count,
  toolCallPieces: is.count,
  newlineDue: is.flag,
  shown: growing,
  askedAt: is.number,
  firstChunkAt: is.orNull(is.number),
  sent: is.optional(sentShape),
})

const preparedShape = is.like<PreparedRequest>(
  is.fields({ provider: is.text, model: is.text, tools: is.orNull(ids) }),
)

const pendingCall: is.Shape<PendingCall> = (name, value) =>
  is.part('toolCall')(name, value) ?? is.fields({ kind: is.oneOf(...pendingKinds) })(name, value)

const callCommand = is.like<CallCommand>(
  is.fields<Pick<CallCommand, 'type' | 'callId'>>({
    type: is.oneOf('tool.approve', 'tool.reject', 'tool.answer'),
    callId: is.text,
  }),
)

const due = is.fields<Due>({ at: is.number, outcome: is.oneOf('reject', 'approve', 'fail', 'wake') })

const roundShape = is.fields<ToolRound>({
  id: is.text,
  pendingApprovals: ids,
  cleared: ids,
  external: ids,
  ending: ids,
  inDoubt: ids,
  interruptions: is.recordOf(is.count),
  runs: is.like<ToolRound['runs']>(is.recordOf(is.object)),
  waiting: is.recordOf(is.listOf(pendingCall)),
  working: is.optional(ids),
  commands: is.recordOf(is.listOf(callCommand)),
  origins: is.optional(is.recordOf(is.text)),
  judged: is.optional(ids),
  edited: is.recordOf(is.object),
  due: is.optional(is.recordOf(due)),
  waitingSince: is.number,
  started: is.runsOf(is.text),
  results: is.runsOf(is.part('toolResult')),
})

const taskShape = is.fields<Task>({
  id: is.text,
  tool: is.text,
  status: is.oneOf('queued', 'working', 'complete', 'failed', 'aborted'),
  prompt: is.optional(is.text),
  detached: is.optional(is.like<true>(is.flag)),
  cancelled: is.optional(is.like<true>(is.flag)),
  createdAt: is.optional(is.number),
  startedAt: is.optional(is.number),
  endedAt: is.optional(is.number),
  usage: is.optional(is.like<Usage>(is.recordOf(is.number))),
  isCounted: is.optional(is.like<true>(is.flag)),
  step: is.optional(is.count),
  // Kept to be shown: nothing follows from them.
  tasks: is.optional(is.like<Task[]>(is.listOf(is.object))),
  waiting: is.optional(is.listOf(pendingCall)),
  isPartly: is.optional(is.like<true>(is.flag)),
  due: is.optional(is.number),
  result: is.optional(is.text),
})

/** The data of a run: a field that `StreamingState` gets and this lacks does not compile. */
const stateShape = is.fields<StreamingState>({
  version: is.text,
  history: is.listOf(is.message),
  messages: is.listOf(is.message),
  options: optionsShape,
  step: is.count,
  answer: answerShape,
  request: is.fields<StreamingState['request']>({
    modelIndex: is.count,
    attempt: is.count,
    retryAt: is.number,
    prepared: is.orNull(preparedShape),
  }),
  round: roundShape,
  remembered: is.listOf(
    is.fields<Remembered>({ tool: is.text, arguments: is.orNull(is.text), origin: is.optional(is.text) }),
  ),
  totals: totalsShape,
  paused: is.orNull(is.message),
  draft: is.orNull(is.message),
  bounds: is.fields<Bounds>({
    reached: is.orNull(
      is.fields<LimitReached>({
        limit: is.like<LimitReached['limit']>(is.text),
        used: is.number,
        allowed: is.number,
      }),
    ),
    question: is.optional(is.text),
    repeats: is.count,
    emptyAnswers: is.count,
  }),
  window: is.fields<Window>({
    tokens: is.orNull(is.number),
    input: is.orNull(is.number),
    ratio: is.orNull(is.number),
    due: is.orNull(is.oneOf('full', 'overflow', 'command')),
    compactedAt: is.listOf(is.count),
    halvings: is.count,
  }),
  steering: is.runsOf(steer),
  tasks: is.optional(is.listOf(taskShape)),
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
  if (stray !== undefined) return `its state is ${state}, which has no child "${stray}"`
  const broken = Object.keys(found).find((id) => !isChild(found[id], id))
  if (broken !== undefined) return `its ${broken} is not a stored actor`
  const run = context as StreamingState
  return (
    conversationFlaw(run, facts) ??
    roundFlaw(run, facts, state) ??
    childrenFlaw(run, facts, found as Readonly<Record<string, Child>>)
  )
}

const isChild = (child: unknown, src: string): boolean =>
  isJsonObject(child) && child.src === src && isJsonObject(child.snapshot)

const isSame = (a: unknown, b: unknown): boolean => stableJson(a) === stableJson(b)

const conversationFlaw = (state: StreamingState, facts: StateFacts): string | undefined => {
  const { isInRound, isAnswered } = facts
  const { history, messages } = state
  const own = history.slice(history.length - messages.length)
  if (!isSame(own, messages)) return 'its messages are not the end of its history'
  const before = isInRound || isAnswered ? history.slice(0, -1) : history
  const [problem] = validateHistory(before).filter(isFatal)
  if (problem) return `its history is not valid: ${problem.message}`
  if (isInRound) return currentCalls(state).length > 0 ? undefined : 'its last message has no calls'
  if (isAnswered) return lastSaid(history)?.role === 'model' ? undefined : 'its history has no answer'
  return lastSaid(history)?.role === 'user' ? undefined : 'its history does not end with a user message'
}

/** Each call of the round is pending, cleared or answered without being run. */
const roundFlaw = (state: StreamingState, facts: StateFacts, name: string): string | undefined => {
  const { isInRound, isUndecided, waitsFor } = facts
  // A last answer may have calls, which are refused.
  const hasRound = isInRound || (facts.isAnswered && currentCalls(state).length > 0)
  if (!hasRound) {
    const { waitingSince: _, ...round } = state.round
    const { waitingSince: __, ...none } = noRound
    return isSame(round, none) ? undefined : 'it has a tool round while the model answers'
  }
  const { pendingApprovals, cleared, external, ending, edited, inDoubt } = state.round
  const { interruptions, runs, waiting, commands } = state.round
  const started = state.round.started.flat()
  const calls = new Set(currentCalls(state).map(({ id }) => id))
  const answered = state.round.results.flat().map(({ id }) => id)
  const { origins = {}, due: dues = {} } = state.round
  const keys = [edited, interruptions, runs, waiting, commands, origins, dues].flatMap(Object.keys)
  const { working = [], judged = [] } = state.round
  const lists = [pendingApprovals, cleared, external, ending, inDoubt, working, judged]
  const named = [...lists, keys, started, answered].flat()
  const unknown = named.find((id) => !calls.has(id))
  if (unknown !== undefined) return `"${unknown}" is not a call of its last message`
  const isCleared = new Set(cleared)
  const isPending = new Set(pendingApprovals)
  const isAnswered = new Set(answered)
  if (isCleared.size < cleared.length || isAnswered.size < answered.length)
    return 'a call of its round is listed twice'
  for (const id of calls) {
    const isDecided = isCleared.has(id) || isAnswered.has(id)
    if (isPending.has(id) === isDecided) return `it is not clear what happens to the call "${id}"`
  }
  if (started.some((id) => !isCleared.has(id))) return 'a call that may not run was started'
  const isDecided = (id: string) => isCleared.has(id) || isAnswered.has(id) || inDoubt.includes(id)
  if (!Object.keys(edited).every(isDecided))
    return 'the arguments of a call that was not approved were changed'
  if (!isUndecided && !facts.isAnswered && isPending.size > 0 !== (waitsFor === 'approval'))
    return `its state is ${name}, and ${isPending.size} calls wait for an approval`
  return waitsFor === 'answer' && externalCalls(state).length === 0
    ? 'it waits for external tools, but no call of one is open'
    : undefined
}
