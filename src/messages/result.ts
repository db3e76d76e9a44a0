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
  /** Ended at a limit other than that of steps (`limits`), or waits at any limit. */
  | 'limit'
  | 'aborted'
  | 'error'
  | 'unspecified'

/** Token counts, with one meaning for all providers; a field that a provider does not report is absent. */
export type Usage = {
  /** All input, including tokens that were read from a cache or written to one. */
  inputTokens?: number
  /** All output, including thinking. */
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

/**
 * A setting that the model did not get as it was given: the server refused it, or the model is known not to take it.
 * The run continues without it. A warning may also be about a `baseUrl` that the provider is about to switch off, or a
 * limit for a tool that the run does not have.
 */
export type Warning = {
  /** The setting by its name in this library: `temperature`, `toolChoice`, `thinking`. */
  setting: string
  /**
   * The change to the request: the setting was left out, got another value, or was added although it was not given.
   * `deprecated`: nothing was changed yet.
   */
  change: 'omitted' | 'replaced' | 'added' | 'deprecated'
  /** A sentence for people. */
  message: string
  provider: string
  model: string
  /** The server's own words, if it refused the setting. */
  refusal?: string
}

/** Adds warnings to a list, each only once, however many requests report it. */
export const addWarnings = (
  known: readonly Warning[] = [],
  more: readonly Warning[] = [],
): { warnings: Warning[]; added: Warning[] } => {
  const warnings = [...known]
  for (const each of more) {
    if (warnings.length < mostWarnings && !warnings.some((one) => isSameWarning(one, each)))
      warnings.push(each)
  }
  return { warnings, added: warnings.slice(known.length) }
}

/** A run has few settings and few models: more than this comes from a broken model. */
const mostWarnings = 100

const isSameWarning = (one: Warning, other: Warning): boolean =>
  one.setting === other.setting &&
  one.change === other.change &&
  one.provider === other.provider &&
  one.model === other.model

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
  /** Stream: the metadata of this chunk, e.g. `{ thinking: 'delta' }`. `send`: everything merged. */
  metadata: JsonObject
  /** Stream: on the final chunk only. `send`: the sum over all steps. */
  usage?: Usage
  /** The settings that the models did not get as they were given; absent if there are none. Stream: on the final chunk only. */
  warnings?: Warning[]
  /** The policy as this run left it: give it to the next send of the conversation. Stream: on the final chunk only. */
  policy?: JsonObject
  /** The calls that the paused run waits for: decide on them or answer them; see `Agent.resume`. */
  pendingApproval?: PendingApproval
}

/** Everything that a run has reached. */
export type Reached<T = string> = ChatResult<T> & {
  /** The text of the last message alone; `output` is the text of all of them. */
  answer: string
}

/** The result of a whole run, or of its part up to a wait. */
export type Settled<T, Waits> = Omit<Reached<T>, 'pendingApproval'> &
  (
    | {
        /** The run is over. */
        status: 'complete'
        pendingApproval?: never
      }
    | {
        /** The run is paused, and its output is not complete. */
        status: 'waiting'
        /** The calls to decide on or to answer. */
        pendingApproval: Waits
      }
  )

/** The result of a whole run. With `status: 'waiting'` it is paused: `pendingApproval` continues it, see `Agent.resume`. */
export type SendResult<T = string> = Settled<T, PendingApproval>

/**
 * A call that a run waits for: an `approval` by a person, or the `answer` of an external tool. A call of a sub-agent
 * has the id of the call that runs it before its own: `a/b`. A call that is `inDoubt` was running when its process
 * ended: approve it to run it again, reject it to treat it as failed, or give its result. A `limit` is the question
 * whether the run may continue: approve it, with other limits as its arguments, or reject it to end the run.
 */
export type PendingCall = ToolCallPart & {
  kind: (typeof pendingKinds)[number]
  inDoubt?: true
  /** The time, in milliseconds since 1970, at which the call expires: see `expiresMs` of a tool. */
  expiresAt?: number
  /**
   * The identity of the question: no other question of any run has it, even about a call of the same id. Send it back
   * with a decision that was made elsewhere, such as on a page: a decision on another question is refused.
   */
  question?: string
}

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
