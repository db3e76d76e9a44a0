import type { Snapshot } from 'xstate'
import type { JsonObject } from './json.ts'
import type { ChatMessage, ToolCallPart } from './messages.ts'

/** The reason why an answer ended. Chunks before the last have `unspecified`. */
export type FinishReason =
  | 'stop'
  | 'length'
  | 'toolCalls'
  | 'contentFilter'
  | 'maxSteps'
  /** Ended at another limit than that of steps (`limits`), or waits at any limit. */
  | 'limit'
  | 'aborted'
  | 'error'
  | 'unspecified'

/** Token counts, with one meaning for all providers; a field that a provider does not report is absent. */
export type Usage = {
  /** All input, what was read from a cache or written to one included. */
  inputTokens?: number
  /** All output, thinking included. */
  outputTokens?: number
  totalTokens?: number
  /** The part of the input that was read from a cache. */
  cachedInputTokens?: number
  /** The part of the input that was written to a cache. */
  cacheWriteTokens?: number
  /** The part of the output that was thinking. */
  reasoningTokens?: number
  /** The cost, in US dollars. */
  cost?: number
}

/** The result of a send, and a chunk of a stream. */
export type ChatResult<T = string> = {
  /** The provider's response id, `''` when it has none. */
  id: string
  /** Stream: the new text only. `send`: the whole text. `sendFor`: the validated value. */
  output: T
  /** The messages that are new in this send; in a stream, those new in this chunk. */
  messages: ChatMessage[]
  finishReason: FinishReason
  /** The provider's own word for the finish reason. */
  rawFinishReason?: string
  /** Stream: what this chunk brought, e.g. `{ thinking: 'delta' }`. `send`: everything merged. */
  metadata: JsonObject
  /** Stream: on the final chunk only. `send`: the sum over all steps. */
  usage?: Usage
  /** The run is paused until these calls are decided on or answered; see `Agent.resume`. */
  pendingApproval?: PendingApproval
}

/** The result of a whole run. */
export type SendResult<T = string> = ChatResult<T> & {
  /** The text of the last message alone; `output` is the text of all of them. */
  answer: string
}

/**
 * A call that a run waits for: an `approval` by a person, or the `answer` of an external tool. A call of a sub-agent
 * has the id of the call that runs it before its own: `a/b`. One that is `inDoubt` was running when its process ended:
 * approve it to run it again, reject it to treat it as failed, or give its result. A `limit` is the question whether
 * the run may continue: approve it, with other limits as its arguments, or reject it to end the run.
 */
export type PendingCall = ToolCallPart & { kind: (typeof pendingKinds)[number]; inDoubt?: true }

export const pendingKinds = ['approval', 'answer', 'limit'] as const

/** The finish reason of a run that waits: at a limit, or for calls. */
export const waitReason = (calls: readonly PendingCall[]): FinishReason =>
  calls.every(({ kind }) => kind === 'limit') ? 'limit' : 'toolCalls'

/** A run that waits, as plain JSON: it can be stored and resumed in another process. */
export type PendingApproval = { calls: [PendingCall, ...PendingCall[]]; snapshot: Snapshot<unknown> }

const usageFields = [
  'inputTokens',
  'outputTokens',
  'totalTokens',
  'cachedInputTokens',
  'cacheWriteTokens',
  'reasoningTokens',
  'cost',
] as const satisfies (keyof Usage)[]

/**
 * Sums two usages. Unknown plus unknown stays unknown; otherwise a missing count is 0.
 *
 * @example addUsage({ inputTokens: 1 }, { inputTokens: 2, outputTokens: 3 }) // { inputTokens: 3, outputTokens: 3 }
 */
export const addUsage = (a: Usage | undefined, b: Usage | undefined): Usage | undefined => {
  if (!a || !b) return a ?? b
  const sum: Usage = {}
  for (const field of usageFields) {
    const left = a[field]
    const right = b[field]
    if (left !== undefined || right !== undefined) sum[field] = (left ?? 0) + (right ?? 0)
  }
  return sum
}
