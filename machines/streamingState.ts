import type { ErrorData } from '../src/messages/errors.ts'
import type { JsonObject } from '../src/messages/json.ts'
import { type ChatMessage, type ToolResultPart, textOf, textPart } from '../src/messages/messages.ts'
import { mergeMetadata } from '../src/messages/metadata.ts'
import { addUsage, type FinishReason, type Usage } from '../src/messages/result.ts'
import { type Accumulated, type Accumulator, nothingAccumulated } from '../src/model/accumulator.ts'
import { assignToolIds } from '../src/model/toolIds.ts'
import type { AgentInput } from './events.ts'
import { readInput } from './runInput.ts'

/**
 * The data of one run: the context of the agent's chart. JSON only, so that any snapshot can be stored and restored.
 * The functions of this file are the chart's actions, as pure functions from state to state.
 */
export type StreamingState = {
  /** The conversation as the model sees it. */
  history: ChatMessage[]
  /** What this run added to it. */
  messages: ChatMessage[]
  outputSchema: JsonObject | null
  /** Model calls so far. */
  step: number
  accumulated: Accumulated
  /** Chunks shown of the message that is being received. */
  chunks: number
  /** Pieces of its tool calls that were shown. */
  pieces: number
  /** The next text chunk begins a message after a tool round: its stream form gets a newline first. */
  newlineDue: boolean
  /** A message that the provider paused and wants to continue. */
  paused: ChatMessage | null
  /** The finished message, until it is decided what becomes of it. */
  draft: ChatMessage | null
  /** Empty answers in a row since the last tool round. */
  emptyAnswers: number
  /** Which of the agent's models is asked: 0, or that of a fallback. */
  modelIndex: number
  /** Retries of the current step. */
  attempt: number
  retryAt: number
  /** Ids of the calls a person must still decide on. */
  pendingApprovals: string[]
  /** Ids of the calls of the current round that were started. */
  started: string[]
  /** Results of the current round, as they come in. */
  results: ToolResultPart[]
  /** Texts to be added to the conversation at the next turn boundary. */
  steering: string[]
  /** When the whole run must be over; null for never. */
  deadlineAt: number | null
  attemptStartedAt: number
  firstChunkAt: number | null
  waitingSince: number
  responseId: string
  finishReason: FinishReason
  rawFinishReason: string | null
  usage: Usage | null
  /** Everything shown by the finished requests, merged. */
  metadata: JsonObject
  /** What the current request has shown of it. */
  shown: JsonObject
  failure: ErrorData | null
  abortReason: string
}

type Change = Partial<StreamingState>

export const initialState = (
  input: AgentInput | undefined,
  now: number,
  totalMs: number | undefined,
): StreamingState => {
  const { history, prompt, failure } = readInput(input)
  return {
    history,
    messages: prompt,
    outputSchema: input?.outputSchema ?? null,
    step: 0,
    accumulated: nothingAccumulated,
    chunks: 0,
    pieces: 0,
    newlineDue: false,
    paused: null,
    draft: null,
    emptyAnswers: 0,
    modelIndex: 0,
    attempt: 0,
    retryAt: 0,
    pendingApprovals: [],
    started: [],
    results: [],
    steering: [],
    deadlineAt: totalMs === undefined ? null : now + totalMs,
    attemptStartedAt: now,
    firstChunkAt: null,
    waitingSince: now,
    responseId: '',
    finishReason: 'unspecified',
    rawFinishReason: null,
    usage: null,
    metadata: {},
    shown: {},
    failure,
    abortReason: '',
  }
}

/** What a network read changes. */
type Read = Pick<
  StreamingState,
  'accumulated' | 'chunks' | 'pieces' | 'newlineDue' | 'shown' | 'firstChunkAt'
>

/**
 * The state after a network read. Written out because it is made for every one of them: where an object is spread that
 * was itself made by spreading, V8 copies it the slow way, in thirty times the time.
 */
export const afterRead = (state: StreamingState, read: Read): StreamingState => ({
  history: state.history,
  messages: state.messages,
  outputSchema: state.outputSchema,
  step: state.step,
  accumulated: read.accumulated,
  chunks: read.chunks,
  pieces: read.pieces,
  newlineDue: read.newlineDue,
  paused: state.paused,
  draft: state.draft,
  emptyAnswers: state.emptyAnswers,
  modelIndex: state.modelIndex,
  attempt: state.attempt,
  retryAt: state.retryAt,
  pendingApprovals: state.pendingApprovals,
  started: state.started,
  results: state.results,
  steering: state.steering,
  deadlineAt: state.deadlineAt,
  attemptStartedAt: state.attemptStartedAt,
  firstChunkAt: read.firstChunkAt,
  waitingSince: state.waitingSince,
  responseId: state.responseId,
  finishReason: state.finishReason,
  rawFinishReason: state.rawFinishReason,
  usage: state.usage,
  metadata: state.metadata,
  shown: read.shown,
  failure: state.failure,
  abortReason: state.abortReason,
})

/** What the model is asked to continue: the history, and the part of the answer it paused in. */
export const requestMessages = (state: StreamingState): ChatMessage[] =>
  state.paused ? [...state.history, state.paused] : state.history

export const beginStep = (state: StreamingState, now: number): Change => ({
  ...beginAttempt(state, now),
  step: state.step + 1,
  attempt: 0,
})

export const beginAttempt = (state: StreamingState, now: number): Change => ({
  accumulated: nothingAccumulated,
  chunks: 0,
  pieces: 0,
  shown: {},
  newlineDue: isNewlineDue(state),
  attemptStartedAt: now,
  firstChunkAt: null,
  failure: null,
})

/** A message that is not the first of its run is set off from what was shown before; typed output never is. */
export const isNewlineDue = ({ outputSchema, messages, paused }: StreamingState): boolean =>
  outputSchema === null && messages.some(({ role }) => role === 'model') && (!paused || textOf(paused) === '')

/** The finished message, with its tool calls under ids of their own. Not yet part of the history. */
export const consolidated = (
  state: StreamingState,
  accumulator: Accumulator,
  newId: () => string,
): ChatMessage => {
  const message = accumulator.consolidate(state.accumulated)
  const { parts, providerCallIds } = assignToolIds(state.accumulated.calls, requestMessages(state), newId)
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

/** What a request adds to the run, whatever becomes of its message. */
export const countResponse = (state: StreamingState): Change => ({
  responseId: state.accumulated.responseId || state.responseId,
  rawFinishReason: state.accumulated.finish?.raw ?? null,
  usage: addUsage(state.usage ?? undefined, state.accumulated.usage ?? undefined) ?? null,
  metadata: runMetadata(state),
  shown: {},
})

/** A provider that says "tool calls" but made none has simply stopped. */
export const finishReasonOf = ({ accumulated: { finish, calls } }: StreamingState): FinishReason =>
  finish?.reason === 'toolCalls' && calls.length === 0 ? 'stop' : (finish?.reason ?? 'unspecified')

export const isEmptyAnswer = ({
  accumulated: { text, calls, media, finish },
  paused,
}: StreamingState): boolean =>
  text === '' &&
  calls.length === 0 &&
  media.length === 0 &&
  paused === null &&
  finish?.reason !== 'length' &&
  finish?.reason !== 'contentFilter'

/** Everything shown so far, merged: what `send` gives as `metadata`. */
const runMetadata = ({ metadata, shown, accumulated: { thinking } }: StreamingState): JsonObject => {
  const merged = mergeMetadata(metadata, shown)
  return thinking === '' ? merged : mergeMetadata(merged, { thinking })
}

export const append = (state: StreamingState, ...messages: ChatMessage[]): Change => ({
  history: [...state.history, ...messages],
  messages: [...state.messages, ...messages],
})
