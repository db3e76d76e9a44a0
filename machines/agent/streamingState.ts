import type { Snapshot } from 'xstate'
import { type CompactionReason, seenOf } from '../../src/messages/compaction.ts'
import type { ErrorData } from '../../src/messages/errors.ts'
import type { Batches, MergedPieces } from '../../src/messages/growing.ts'
import { copyJson, type JsonObject } from '../../src/messages/json.ts'
import type { ChatMessage, ToolResultPart } from '../../src/messages/messages.ts'
import {
  addUsage,
  type FinishReason,
  type PendingCall,
  type Usage,
  type Warning,
} from '../../src/messages/result.ts'
import { type Accumulated, nothingAccumulated } from '../../src/model/accumulator.ts'
import type { GenerationSettings } from '../../src/model/chatModel.ts'
import type { RequestPrefix, SentPrefix } from '../model/requestPrefix.ts'
import type { Due } from '../tools/expiry.ts'
import type { CallCommand, PreparedRequest } from './events.ts'
import type { LimitReached, RunLimits } from './limits.ts'

/**
 * The data of one run: the context of the agent's chart. JSON only, so that any snapshot can be stored and restored.
 * The functions of this file are the chart's actions, as pure functions from state to state.
 *
 * XState copies the context at every `assign`, and V8 copies an object of more than 18 fields the slow way: so the data
 * is in groups.
 */
export type StreamingState = {
  /** The version of the shape of this data: see `snapshotVersion`. */
  version: string
  /** The conversation as the model sees it. */
  history: ChatMessage[]
  /** The messages that this run added to it. */
  messages: ChatMessage[]
  options: RunOptions
  /** Model calls so far. */
  step: number
  answer: Answer
  request: {
    /** The index of the current model in the agent's list: 0, or that of a fallback. */
    modelIndex: number
    /** Retries of the current step. */
    attempt: number
    retryAt: number
    prepared: PreparedRequest | null
  }
  round: ToolRound
  /** The approvals that count for the whole run. */
  remembered: Remembered[]
  totals: Totals
  /** A message that the provider paused and wants to continue. */
  paused: ChatMessage | null
  /** The finished message, until the chart decides on it. */
  draft: ChatMessage | null
  bounds: Bounds
  window: Window
  /** Texts that join the conversation at the next turn boundary, or when the run is idle. */
  steering: Batches<Steer>
  /** The background agents that the run has started; absent where there are none. */
  tasks?: Task[]
  /** The time at which the whole run must be over; null for never. */
  deadlineAt: number | null
  failure: ErrorData | null
  abortReason: string
}

/** A text of the user: for the next turn boundary, or for the end of the run's work. */
export type Steer = string | { idle: string; metadata?: JsonObject }

/** The options of the prompt. */
export type RunOptions = {
  /** The id of the run. */
  id: string
  /** The shape of a typed answer. */
  outputSchema: JsonObject | null
  /** The system prompt. */
  system: string | null
  /** Settings of the model. */
  settings: GenerationSettings
  /** The limits of the run. */
  limits: RunLimits
  /** The policy of the conversation so far, until the run's own policy has started from it. */
  policy?: JsonObject
  /** The questions that the policy is not asked. */
  unasked?: ('prompt' | 'answer')[]
  /** The number of the run's messages up to the last answer that the policy has accepted. */
  accepted?: number
  /** Messages of the user that the policy is asked about at the next gate. */
  steering?: Steer[]
  /** The run got a `context` with its input, which is not stored; absent where it did not. */
  hasContext?: boolean
}

/** The counts that keep a run from continuing for ever. */
export type Bounds = {
  /** The limit that the run has reached, or gives its last answer at. */
  reached: LimitReached | null
  /** An id of the question whether the run may continue: no other question has it. */
  question?: string
  /** The number of times that the same calls have given the same results so far. */
  repeats: number
  /** Empty answers, or pauses that brought nothing, in a row since the last tool round. */
  emptyAnswers: number
}

/** The measures of the room for the conversation. */
export type Window = {
  /** The tokens of input that fit, as a provider has shown; null until one refuses a request. */
  tokens: number | null
  /** The tokens of the last request, as its answer reported. */
  input: number | null
  /** Tokens per character, from the last answer. */
  ratio: number | null
  /** The reason why the conversation must be compacted, if it must. */
  due: CompactionReason | null
  /** The last steps after which it was compacted. */
  compactedAt: number[]
  /** The number of times that the part to be summarised was halved. */
  halvings: number
}

/** An approval that is remembered: of all calls of a tool, or of those with the same arguments, as JSON. */
export type Remembered = {
  tool: string
  arguments: string | null
  /** The origin of a tool that is not the agent's own: see `ToolRound`. */
  origin?: string
}

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
  shown: MergedPieces<JsonObject>
  askedAt: number
  firstChunkAt: number | null
  /** The request, compared with the one before it; absent until the answer begins. */
  sent?: SentPrefix
}

/** The tool calls of the current turn: every fact about them is here, and nowhere else. The lists hold call ids. */
export type ToolRound = {
  /** Part of the idempotency keys of its calls: no other round has it. */
  id: string
  /** Calls that still need a person's decision. */
  pendingApprovals: string[]
  /** Calls that may run, or be answered from outside. While calls run: those that were left, in the order of the answer. */
  cleared: string[]
  /** Calls that are answered from outside. */
  external: string[]
  /** Calls that end the run when they succeed. */
  ending: string[]
  /** Calls that were running when the process ended, so that a person decides, or has decided, what happens to them. */
  inDoubt: string[]
  /** The number of times that a call was cut off by the end of its process, by call id. */
  interruptions: { [callId: string]: number }
  /** The stored runs of sub-agents that are paused while a person decides on other calls, by call id. */
  runs: { [callId: string]: Snapshot<unknown> }
  /** The calls that sub-agents wait for, by the id of the call that runs the sub-agent. */
  waiting: { [callId: string]: PendingCall[] }
  /** The calls whose sub-agents are partly running while another part waits. */
  working?: string[]
  /** Decisions for a restored sub-agent that is not there yet, by the id of the call that runs it. */
  commands: { [callId: string]: CallCommand[] }
  /** The origins of the tools that people were asked about, by call id: an approval is for no other tool of the name. */
  origins?: { [callId: string]: string }
  /** Calls that the policy has let pass; absent without a policy. */
  judged?: string[]
  /** Arguments that a person changed, by call id. */
  edited: { [callId: string]: JsonObject }
  /** The times at which the calls that waited last expire, by call id; absent if they may wait for ever. */
  due?: { [callId: string]: Due }
  waitingSince: number
  /** Calls that the current executor has started, in their order: without a result, they are running. */
  started: Batches<string>
  /** Results, as they come in. */
  results: Batches<ToolResultPart>
}

/** A background agent of the run. Ended ones come last, in the order of their ends. */
export type Task = {
  /** The id of the call that started it. */
  id: string
  /** The tool that was called. */
  tool: string
  status: 'queued' | 'working' | 'complete' | 'failed' | 'aborted'
  /** The prompt that it works on, until the model has its result. */
  prompt?: string
  /** The run does not wait for it. */
  detached?: true
  /** The model has cancelled it, and gets no result. */
  cancelled?: true
  /** The times at which it was asked for, began to work, and ended. */
  createdAt?: number
  startedAt?: number
  endedAt?: number
  /** The usage so far. */
  usage?: Usage
  /** The usage is part of the totals: it is added when the model gets the result, or at the end of the run. */
  isCounted?: true
  /** The model calls and the tasks that it made, once it has ended. */
  step?: number
  tasks?: Task[]
  /** The calls that it waits for, by the ids that they have in this run. */
  waiting?: PendingCall[]
  /** A part of it is at work while another part waits. */
  isPartly?: true
  /** The next moment at which it continues by itself: a call of it expires, or a sleep is over. */
  due?: number
  /** The result, until the model has it. */
  result?: string
}

/** The sums of all requests of a run; charts made of runs have them, too. */
export type Totals = {
  responseId: string
  finishReason: FinishReason
  rawFinishReason: string | null
  usage: Usage | null
  /** Everything shown by the finished requests. */
  metadata: MergedPieces<JsonObject>
  /** The settings that a request was sent without; absent where there are none. */
  warnings?: Warning[]
  /** The last request of the conversation that was answered. */
  prefix?: RequestPrefix
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

export const emptyAnswer = (askedAt: number, newlineDue: boolean): Answer => ({
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

/** The input of the actor that asks the model. */
export const modelInput = (state: StreamingState) => ({
  modelIndex: state.request.modelIndex,
  messages: requestMessages(state),
  options: state.options,
  deadlineAt: state.deadlineAt,
  step: state.step,
  usage: state.totals.usage,
  isLast: state.bounds.reached !== null,
  ...(state.totals.prefix && { prefix: state.totals.prefix }),
})

/** The time at which the wait before the next try is over. */
export const retryTime = ({ request: { retryAt }, deadlineAt }: StreamingState): number =>
  Math.min(retryAt, deadlineAt ?? retryAt)

/** The messages of a request: the history as the model sees it, and the part of the answer that it paused in. */
export const requestMessages = (state: StreamingState): ChatMessage[] => {
  const seen = seenOf(state.history)
  return state.paused ? [...seen, state.paused] : seen
}

export const append = (state: StreamingState, ...messages: ChatMessage[]): Partial<StreamingState> => ({
  history: [...state.history, ...messages],
  messages: [...state.messages, ...messages],
})

/** The totals with some more usage. */
export const withUsage = (totals: Totals, usage: Usage | null): Totals =>
  usage ? { ...totals, usage: addUsage(totals.usage ?? undefined, usage) ?? null } : totals

/** A copy for listeners, who must not be able to change the run. */
export const copyOf = <T>(data: T): T => copyJson(data) as T
