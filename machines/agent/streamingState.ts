import type { Snapshot } from 'xstate'
import { type CompactionReason, lastSaid, seenOf } from '../../src/messages/compaction.ts'
import type { ErrorData } from '../../src/messages/errors.ts'
import type { Growing, Runs } from '../../src/messages/growing.ts'
import { copyJson, type JsonObject } from '../../src/messages/json.ts'
import { type ChatMessage, type ToolResultPart, textOf, textPart } from '../../src/messages/messages.ts'
import { addMetadata, mergeMetadata, wholeMetadata } from '../../src/messages/metadata.ts'
import { addUsage, type FinishReason, type PendingCall, type Usage } from '../../src/messages/result.ts'
import { type Accumulated, type Accumulator, nothingAccumulated } from '../../src/model/accumulator.ts'
import type { GenerationSettings } from '../../src/model/chatModel.ts'
import { assignToolIds } from '../../src/model/toolIds.ts'
import { snapshotVersion } from '../stored/version.ts'
import type { ResolvedConfig } from './agentConfig.ts'
import type { AgentInput, CallCommand, PreparedRequest } from './events.ts'
import type { LimitReached, RunLimits } from './limits.ts'
import { readInput } from './runInput.ts'

/**
 * The data of one run: the context of the agent's chart. JSON only, so that any snapshot can be stored and restored.
 * The functions of this file are the chart's actions, as pure functions from state to state.
 *
 * XState copies the context at every `assign`, and V8 copies an object of more than 18 fields the slow way: what belongs
 * together is in groups.
 */
export type StreamingState = {
  /** Of the shape of this data: see `snapshotVersion`. */
  version: string
  /** The conversation as the model sees it. */
  history: ChatMessage[]
  /** What this run added to it. */
  messages: ChatMessage[]
  options: RunOptions
  /** Model calls so far. */
  step: number
  answer: Answer
  request: {
    /** Which of the agent's models is asked: 0, or that of a fallback. */
    modelIndex: number
    /** Retries of the current step. */
    attempt: number
    retryAt: number
    prepared: PreparedRequest | null
  }
  round: ToolRound
  /** What a person approved for the whole run. */
  remembered: Remembered[]
  totals: Totals
  /** A message that the provider paused and wants to continue. */
  paused: ChatMessage | null
  /** The finished message, until it is decided what happens to it. */
  draft: ChatMessage | null
  bounds: Bounds
  window: Window
  /** Texts to be added to the conversation at the next turn boundary. */
  steering: Runs<string>
  /** When the whole run must be over; null for never. */
  deadlineAt: number | null
  failure: ErrorData | null
  abortReason: string
}

/** What was asked for with the prompt. */
export type RunOptions = {
  /** The id of the run. */
  id: string
  /** The shape of a typed answer. */
  outputSchema: JsonObject | null
  /** The system prompt. */
  system: string | null
  /** Settings of the model. */
  settings: GenerationSettings
  /** What the run may use. */
  limits: RunLimits
}

/** What keeps a run from going on for ever. */
export type Bounds = {
  /** The limit that it reached, or gives its last answer at. */
  reached: LimitReached | null
  /** How often the same calls have given the same results by now. */
  repeats: number
  /** Empty answers, or pauses that brought nothing, in a row since the last tool round. */
  emptyAnswers: number
}

/** What is known of the room for the conversation. */
export type Window = {
  /** The tokens of input that fit, as a provider has shown; null until one refuses a request. */
  tokens: number | null
  /** The tokens of the last request, as its answer reported. */
  input: number | null
  /** Tokens of a character, as the last answer showed. */
  ratio: number | null
  /** Why the conversation must be compacted, if it must. */
  due: CompactionReason | null
  /** The steps after which it was, the last ones. */
  compactedAt: number[]
  /** How often the part that is being summarised was halved. */
  halvings: number
}

/** Calls that no longer need an approval: all of a tool, or those with the same arguments, as JSON. */
export type Remembered = { tool: string; arguments: string | null }

/** The answer that is being received. */
export type Answer = {
  accumulated: Accumulated
  /** Chunks shown of it. */
  chunks: number
  /** Pieces of its tool calls that were shown. */
  toolCallPieces: number
  /** The next text chunk begins a message after a tool round: its stream form gets a newline first. */
  newlineDue: boolean
  /** The metadata shown of it. */
  shown: Growing<JsonObject>
  askedAt: number
  firstChunkAt: number | null
}

/**
 * The tool calls of the current turn: every fact about them, and the only place that has it. All lists are of call ids.
 */
export type ToolRound = {
  /** Part of the idempotency keys of its calls: no other round has it. */
  id: string
  /** Those that a person must still decide on. */
  pendingApprovals: string[]
  /** Those that may run, or be answered from outside. While calls run: those that were left, in the order of the answer. */
  cleared: string[]
  /** Those that are answered from outside. */
  external: string[]
  /** Those that end the run when they succeed. */
  ending: string[]
  /** Those that were running when the process ended, so that a person decides, or has decided, what happens to them. */
  inDoubt: string[]
  /** How often a call was cut off by the end of its process, by call id. */
  interruptions: { [callId: string]: number }
  /** The stored runs of sub-agents that are paused while a person decides on other calls, by call id. */
  runs: { [callId: string]: Snapshot<unknown> }
  /** The calls that sub-agents wait for, by the id of the call that runs the sub-agent. */
  waiting: { [callId: string]: PendingCall[] }
  /** Decisions for a restored sub-agent that is not there yet, by the id of the call that runs it. */
  commands: { [callId: string]: CallCommand[] }
  /** Arguments that a person changed, by call id. */
  edited: { [callId: string]: JsonObject }
  waitingSince: number
  /** Those that the current executor has started, in their order: without a result, they are running. */
  started: Runs<string>
  /** Results, as they come in. */
  results: Runs<ToolResultPart>
}

/** What all requests of a run add up to; charts made of runs have the same. */
export type Totals = {
  responseId: string
  finishReason: FinishReason
  rawFinishReason: string | null
  usage: Usage | null
  /** Everything shown by the finished requests. */
  metadata: Growing<JsonObject>
}

type Change = Partial<StreamingState>

export const initialState = (
  input: AgentInput | undefined,
  now: number,
  { totalMs, limits }: Pick<ResolvedConfig, 'totalMs' | 'limits'>,
): StreamingState => {
  const { history, prompt, options, failure } = readInput(input, limits)
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
    totals: nothingYet,
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

export const noBounds: Bounds = { reached: null, repeats: 0, emptyAnswers: 0 }

export const unknownWindow: Window = {
  tokens: null,
  input: null,
  ratio: null,
  due: null,
  compactedAt: [],
  halvings: 0,
}

const emptyAnswer = (askedAt: number, newlineDue: boolean): Answer => ({
  accumulated: nothingAccumulated,
  chunks: 0,
  toolCallPieces: 0,
  newlineDue,
  shown: [],
  askedAt,
  firstChunkAt: null,
})

export const noRound: ToolRound = {
  id: '',
  pendingApprovals: [],
  cleared: [],
  external: [],
  ending: [],
  inDoubt: [],
  interruptions: {},
  runs: {},
  waiting: {},
  commands: {},
  edited: {},
  waitingSince: 0,
  started: [],
  results: [],
}

export const nothingYet: Totals = {
  responseId: '',
  finishReason: 'unspecified',
  rawFinishReason: null,
  usage: null,
  metadata: [],
}

/** What the model is asked with, as the input of its actor. */
export const modelInput = (state: StreamingState) => ({
  modelIndex: state.request.modelIndex,
  messages: requestMessages(state),
  options: state.options,
  deadlineAt: state.deadlineAt,
  step: state.step,
  usage: state.totals.usage,
  isLast: state.bounds.reached !== null,
})

/** When the wait before the next try is over. */
export const retryTime = ({ request: { retryAt }, deadlineAt }: StreamingState): number =>
  Math.min(retryAt, deadlineAt ?? retryAt)

/** What the model is asked to continue: the history as it sees it, and the part of the answer it paused in. */
export const requestMessages = (state: StreamingState): ChatMessage[] => {
  const seen = seenOf(state.history)
  return state.paused ? [...seen, state.paused] : seen
}

export const beginStep = (state: StreamingState, now: number): Change => ({
  ...beginAttempt(state, now),
  step: state.step + 1,
  request: { ...state.request, attempt: 0, prepared: null },
  round: noRound,
  window: { ...state.window, due: null },
})

export const beginAttempt = (state: StreamingState, now: number): Change => ({
  answer: emptyAnswer(now, isNewlineDue(state)),
  failure: null,
})

/** Listeners have discarded what was shown: a run that ends during the wait does not bring it back. */
export const forgetAttempt = ({ answer }: StreamingState): Change => ({
  answer: { ...emptyAnswer(answer.askedAt, answer.newlineDue), firstChunkAt: answer.firstChunkAt },
})

/** A message that is not the first of its run is set off from what was shown before; typed output never is. */
export const isNewlineDue = ({ options, messages, paused }: StreamingState): boolean =>
  options.outputSchema === null &&
  messages.some(({ role }) => role === 'model') &&
  (!paused || textOf(paused) === '')

/** What a finished request adds to the run, and the message that it brought. */
export const consolidate = (
  state: StreamingState,
  accumulator: Accumulator,
  newId: () => string,
): Change => ({
  totals: { ...totalsAfter(state), finishReason: finishReasonOf(state) },
  // A copy: a user's accumulator may return anything, and keep it.
  draft: copyOf(consolidated(state, accumulator, newId)),
})

/** The finished message, with a unique id for each tool call. Not yet part of the history. */
const consolidated = (state: StreamingState, accumulator: Accumulator, newId: () => string): ChatMessage => {
  const { accumulated } = state.answer
  const message = accumulator.consolidate(accumulated)
  const { parts, providerCallIds } = assignToolIds(
    accumulated.calls,
    [...state.history, ...(state.paused ? [state.paused] : [])],
    newId,
  )
  const renamed = Object.keys(providerCallIds).length > 0
  const whole: ChatMessage = {
    ...message,
    parts: [...message.parts, ...parts],
    ...(renamed && { metadata: { ...message.metadata, providerCallIds } }),
  }
  return state.paused ? continued(state.paused, whole) : whole
}

/** One message from its part before a provider's pause and its part after it. */
const continued = (before: ChatMessage, after: ChatMessage): ChatMessage => {
  const text = textOf(before) + textOf(after)
  const rest = [...before.parts, ...after.parts].filter((part) => part.type !== 'text')
  const metadata = mergeMetadata(before.metadata ?? {}, after.metadata ?? {})
  return {
    role: 'model',
    parts: [...(text === '' ? [] : [textPart(text)]), ...rest],
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }
}

/** The totals with those of the current request, even if its message is dropped. */
export const totalsAfter = ({ totals, answer: { accumulated, shown } }: StreamingState): Totals => ({
  responseId: accumulated.responseId || totals.responseId,
  finishReason: totals.finishReason,
  rawFinishReason: accumulated.finish?.raw ?? null,
  usage: addUsage(totals.usage ?? undefined, accumulated.usage ?? undefined) ?? null,
  metadata: addMetadata(totals.metadata, {
    ...wholeMetadata(shown),
    ...(accumulated.thinking !== '' && { thinking: accumulated.thinking }),
  }),
})

/** A provider that says "tool calls" but made none has simply stopped, and so has one that ended without saying why. */
const finishReasonOf = ({ answer }: StreamingState): FinishReason => {
  const { finish, calls } = answer.accumulated
  const reason = finish?.reason ?? 'unspecified'
  if (reason !== 'toolCalls' && reason !== 'unspecified') return reason
  return calls.length > 0 ? 'toolCalls' : 'stop'
}

export const isEmptyAnswer = ({ answer, paused }: StreamingState): boolean => {
  const { text, calls, media, finish } = answer.accumulated
  return (
    text === '' &&
    calls.length === 0 &&
    media.length === 0 &&
    paused === null &&
    finish?.reason !== 'length' &&
    finish?.reason !== 'contentFilter'
  )
}

/** A provider may pause for its own work, such as a compaction, and show nothing of it. */
export const isEmptyPause = ({ answer }: StreamingState): boolean => {
  const { text, thinking, calls, media, metadata, finish } = answer.accumulated
  const isEmpty = [calls, media, metadata].every(({ length }) => length === 0)
  return finish?.pause === true && text === '' && thinking === '' && isEmpty
}

/** Whether it has done so twice in a row: it would repeat that for ever. */
export const isPausedInVain = (state: StreamingState): boolean =>
  isEmptyPause(state) &&
  state.paused !== null &&
  state.bounds.emptyAnswers > 0 &&
  state.bounds.reached === null

/** The part of an answer that continues after a pause. */
export const keepPaused = (state: StreamingState): Change => ({
  ...answerTaken(state),
  paused: state.draft,
  bounds: { ...state.bounds, emptyAnswers: isEmptyPause(state) ? state.bounds.emptyAnswers + 1 : 0 },
})

/** The finished message joins the conversation. */
export const storeDraft = (state: StreamingState): Change => ({
  ...(state.draft && append(state, state.draft)),
  ...answerTaken(state),
  paused: null,
  draft: null,
})

/** What the answer brought is counted: nothing of it may count again. */
export const answerTaken = ({ answer }: StreamingState): Change => ({
  answer: { ...answer, accumulated: nothingAccumulated, shown: [] },
})

/**
 * The message that ends a run whose last message is the user's, such as tool results: a conversation cannot continue
 * from two user messages in a row.
 */
export const closingMessage = ({ history, totals }: StreamingState): ChatMessage | undefined => {
  if (lastSaid(history)?.role !== 'user') return undefined
  const { finishReason } = totals
  return {
    role: 'model',
    parts: [],
    ...(finishReason !== 'stop' && { metadata: { interrupted: finishReason } }),
  }
}

export const append = (state: StreamingState, ...messages: ChatMessage[]): Change => ({
  history: [...state.history, ...messages],
  messages: [...state.messages, ...messages],
})

/** For listeners: what they do to their data must not change the run. */
export const copyOf = <T>(data: T): T => copyJson(data) as T
