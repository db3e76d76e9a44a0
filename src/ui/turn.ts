import { ToolExecutionError } from '../messages/errors.ts'
import { isJsonObject, type JsonValue } from '../messages/json.ts'
import { type ChatMessage, type Part, type ToolResultPart, toolResultsOf } from '../messages/messages.ts'
import type { ChatResult, FinishReason, PendingCall, Usage } from '../messages/result.ts'
import type { CallDecision } from '../tools/approval.ts'
import type { ClientTool } from './clientMessages.ts'
import { HttpError } from './request.ts'

/** A question of a client. */
export type Question = {
  prompt: Part[]
  /** The id of its message in the page. */
  id?: string
  /** The conversation before it, as the client sends it. */
  history: ChatMessage[]
  /** The texts of the prompts in it. */
  asked: string[]
  /** Adds a prompt, replaces an earlier one, or asks for another answer to it. */
  intent: 'new' | 'edit' | 'regenerate'
}

/** The context for the agent's tools, the client's own tools, and the name of the client. */
export type TurnContext = { context: unknown; tools?: readonly ClientTool[]; client?: string }

/** Decisions on pending calls, by their ids. */
export type Decisions = Record<string, CallDecision>

/** The receiver of a turn. */
export type TurnListener = {
  onEvent: (event: TurnEvent) => void
  /** Waits until the listener has caught up, for callers that can wait. */
  ready: () => Promise<void>
  /** A signal that is aborted when the listener has left. */
  signal: AbortSignal
}

/** An answer that is being given. */
export type Turn = {
  /** Shows the answer until it ends or waits, and gives its outcome; undefined if the listener has left. */
  follow(listener: TurnListener): Promise<TurnOutcome | undefined>
  /** Waits for the outcome of an answer that continues without its listener. */
  outcome?(): Promise<TurnOutcome>
  /** The page's id of the prompt that is answered. */
  promptId?: string
  /** True for an answer that has already ended. */
  isOver?: boolean
}

/** The end of an answer, or its wait. */
export type TurnOutcome = {
  /** The whole conversation, with the question and the answer. */
  messages: ChatMessage[]
  finishReason: FinishReason
  /** The tokens of the whole answer. */
  usage?: Usage
  /** The calls that the answer waits for. */
  pending: readonly PendingCall[]
}

/** The conversations of a handler. */
export type Chats = {
  ask(chatId: string, question: Question, context: TurnContext): Promise<Turn>
  /** Continues an answer that waits; `decide` gets the pending calls. Refused if nothing is decided. */
  resume(
    chatId: string,
    decide: (calls: readonly PendingCall[]) => Decisions,
    context: TurnContext,
  ): Promise<Turn>
  /**
   * The answer that is being given, that waits, or that has just ended, from its beginning. With the id of a prompt,
   * only the answer to that prompt: later questions have their own answers.
   */
  current(chatId: string, promptId?: string): Promise<Turn | undefined>
  /** Ends the answer that is being given. */
  stop(chatId: string): Promise<void>
  /**
   * The conversation up to the first question of the answer that is being given, or up to the one that is being answered `now`, if
   * others were queued behind that; undefined where the client stores it.
   */
  history(chatId: string, now?: boolean): Promise<ChatMessage[] | undefined>
}

/** The id of a prompt's message in the page, if the page gave one. */
export const promptIdOf = ({ metadata }: ChatMessage): string | undefined =>
  typeof metadata?.id === 'string' ? metadata.id : undefined

/** A conversation whose last answer has its usage, for pages that show it again. */
export const withUsage = (messages: readonly ChatMessage[], usage: Usage | undefined): ChatMessage[] => {
  const last = messages.at(-1)
  if (!usage || last?.role !== 'model') return [...messages]
  return [...messages.slice(0, -1), { ...last, metadata: { ...last.metadata, usage: { ...usage } } }]
}

/** The id under which a client is asked about a call: that of the question, since the id of a call may repeat. */
export const questionIdOf = ({ id, question }: PendingCall): string => question ?? id

/** The error of a decision that nothing waits for. */
export const nothingDecided = () =>
  new HttpError(
    409,
    'No call of this chat waits for this decision: it was already made, or the call is too old.',
  )

/** An event of a turn, for every kind of run and every protocol. */
export type TurnEvent =
  /** The first event, with the id of the run. */
  | { type: 'begin'; runId: string }
  | { type: 'state'; state: string }
  | { type: 'text'; text: string }
  | { type: 'thinking'; text: string }
  /** A part of a tool call that is being streamed. Stored runs do not show it. */
  | { type: 'callDelta'; index: number; id?: string; name?: string; arguments: string }
  /** Discards everything that was shown since the last message. */
  | { type: 'restart' }
  /** A whole message of the model, with its calls. */
  | { type: 'answer'; message: ChatMessage }
  | { type: 'progress'; callId: string; value: JsonValue }
  /** A result of a call. It may come twice: when the call ends, and with the message of all results of the round. */
  | { type: 'result'; result: ToolResultPart }
  /** Data that a tool shows, under its own name. */
  | { type: 'data'; name: string; data: JsonValue; id?: string; transient?: boolean }
  /** The state that a page of AG-UI shares with the tools. */
  | { type: 'pageState'; state: JsonValue }
  /** Pauses the turn until these calls are decided. */
  | { type: 'waits'; calls: readonly PendingCall[] }
  | { type: 'end'; finishReason: FinishReason; usage?: Usage }

/** A chunk of a run in this process, or of a stored run. */
type AnyChunk = Omit<ChatResult, 'pendingApproval'>

/** The events of a chunk, without the end, which comes from the result. */
export function* eventsOf({ metadata, output, messages }: AnyChunk): Generator<TurnEvent> {
  if (metadata.restart === true) yield { type: 'restart' }
  if (typeof metadata.thinking === 'string') yield { type: 'thinking', text: metadata.thinking }
  if (output !== '') yield { type: 'text', text: output }
  for (const message of messages) {
    if (message.role === 'model') yield { type: 'answer', message }
    for (const result of toolResultsOf(message)) yield { type: 'result', result }
  }
}

/** The output of a tool: JSON as data, any other text as it is, and its files. */
export const outputOf = ({ result, parts }: ToolResultPart): JsonValue => {
  const value = jsonOr(result)
  return parts ? { result: value, parts: parts.map((part) => ({ ...part })) } : value
}

/** The error text of a result. */
export const errorTextOf = ({ result }: ToolResultPart): string => {
  const value = jsonOr(result)
  return isJsonObject(value) && typeof value.error === 'string' ? value.error : result
}

/** The error text of a result as a client sees it: the error of a tool may hold an address or a password. */
export const shownErrorOf = (result: ToolResultPart, showError: (error: unknown) => string): string =>
  result.rejected ? errorTextOf(result) : showError(new ToolExecutionError(errorTextOf(result)))

/** The text of an error without its details. */
export const noDetails = (): string => 'Something went wrong.'

const jsonOr = (text: string): JsonValue => {
  if (!/^\s*[[{]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
