import { isJsonObject, type JsonValue } from '../messages/json.ts'
import { type ChatMessage, type ToolResultPart, toolResultsOf } from '../messages/messages.ts'
import type { ChatResult, FinishReason, PendingCall, Usage } from '../messages/result.ts'

/** The events of a chat turn, for every kind of run and every wire. */
export type TurnEvent =
  /** First, with the id of the run. */
  | { type: 'begin'; runId: string }
  | { type: 'state'; state: string }
  | { type: 'text'; text: string }
  | { type: 'thinking'; text: string }
  /** A piece of a tool call; only a run in this process shows them. */
  | { type: 'callPiece'; index: number; id?: string; name?: string; arguments: string }
  /** What was shown since the last message does not count. */
  | { type: 'restart' }
  /** A whole message of the model, with its calls. */
  | { type: 'answer'; message: ChatMessage }
  | { type: 'progress'; callId: string; value: JsonValue }
  /** May come twice for a call: when it is there, and with the message that all results of a round make. */
  | { type: 'result'; result: ToolResultPart }
  /** It is paused until these calls are decided on. */
  | { type: 'waits'; calls: readonly PendingCall[] }
  | { type: 'end'; finishReason: FinishReason; usage?: Usage }

/** The calls that a chunk waits for, with or without a snapshot. */
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

/** What a tool gave: JSON as data, any other text as it is, and what belongs to it. */
export const outputOf = ({ result, parts }: ToolResultPart): JsonValue => {
  const value = jsonOr(result)
  return parts ? { result: value, parts: parts.map((part) => ({ ...part })) } : value
}

/** The error text of a call. */
export const problemOf = ({ result }: ToolResultPart): string => {
  const value = jsonOr(result)
  return isJsonObject(value) && typeof value.error === 'string' ? value.error : result
}

const jsonOr = (text: string): JsonValue => {
  if (!/^\s*[[{]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
