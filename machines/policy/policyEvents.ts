import type { AnyStateMachine } from 'xstate'
import type { JsonValue } from '../../src/messages/json.ts'
import type { ChatModel, GenerationSettings, ToolChoice } from '../../src/model/chatModel.ts'

/**
 * The tags that a run looks at. While the policy is in a state tagged `hold`, nothing begins: a check is running.
 * `approval`: every call that it takes waits for a person. `refuse`: no call passes, no result is shown to the model, no
 * answer is accepted.
 */
export type PolicyTag = 'hold' | 'approval' | 'refuse'

/** A policy with its options. */
export type PolicyOptions<Model = ChatModel> = {
  /** Your statechart: what it is asked and cannot take does not happen. */
  machine: AnyStateMachine
  /**
   * The verdict on calls of tools that no state of the machine mentions. Default: an error when the agent is made; such
   * tools of sources and of a single send are refused.
   */
  others?: 'refuse' | 'ask' | 'allow'
  /** The time that it may hold a run: then the run fails. Default: 5 minutes. */
  holdMs?: number
  /** `'hold'`: listeners get the text of an answer once the policy has accepted it. Default: they get it as it comes. */
  chunks?: 'hold'
  /** The models that `meta.model` of a state names. Default: an agent reads the names as model strings. */
  models?: Readonly<Record<string, Model>>
}

/** The `meta` of a policy's state: what the next request is made with, and why a state refuses. */
export type PolicyMeta = {
  /** The reason for a refusal, as the model and people get it. Default: the name of the state, and what is possible now. */
  reason?: string | ((snapshot: { context: never; value: unknown }) => string)
  /** The system prompt of the next request. Default: the agent's. */
  system?: string
  /** The names of the tools that are offered. Default: all. */
  tools?: readonly string[]
  /** The model that is asked: one of `models`, a model string, or a chat model. Default: the agent's. */
  model?: string | ChatModel
  /** Settings in place of the agent's settings of the same name. Default: none. */
  settings?: GenerationSettings
  /** Makes the model call a tool, or none. Default: the agent's. */
  toolChoice?: ToolChoice
}

/** The input of a policy's machine: the id of its first run, and the `context` that was given to the send. */
export type PolicyInput<Deps = unknown> = { id: string; context: Deps }

/**
 * The events that a policy gets, typed by the tools: give it to `setup` as the type of its events.
 *
 * @example
 * const tools = [verify, refund] as const
 * setup({ types: { events: {} as PolicyEvents<typeof tools>, tags: {} as PolicyTag } }).createMachine({
 *   initial: 'Unknown',
 *   states: {
 *     Unknown: { on: { 'verify.call': { actions: () => {} }, 'verify.done': 'Verified' } },
 *     Verified: { on: { 'refund.call': 'Verified' } },
 *   },
 * })
 */
export type PolicyEvents<Tools extends readonly object[]> =
  /** The user's message, before any request is sent. */
  | { type: 'prompt'; text: string }
  /**
   * The answer of the model, which ends the run if it is accepted, after what it wrote beside its calls: all of it becomes
   * the output. A typed answer is JSON.
   */
  | { type: 'answer'; text: string }
  | { type: 'answer.refused'; text: string }
  /** A message that the user adds while the run is under way: asked at the next gate. */
  | { type: 'steer'; text: string }
  | { type: 'steer.refused'; text: string }
  | EventsOf<Tools[number]>

type EventsOf<Tool> = Tool extends {
  readonly name: infer Name extends string
  readonly '~types'?: { input: infer Args; output: infer Result }
}
  ? CallEvents<Name, Args, Result>
  : never

type CallEvents<Name extends string, Args, Result> =
  /** The model calls the tool: asked before any call of the turn runs. */
  | { type: `${Name}.call`; callId: string; args: Args }
  /** A person has approved the call. Sent with its result. */
  | { type: `${Name}.approved`; callId: string; args: Args }
  /** The policy refused the call, or withheld its result. */
  | { type: `${Name}.refused`; callId: string; args: Args }
  | { type: `${Name}.rejected`; callId: string; args: Args; reason: string }
  /** The tool is a background agent, and has begun: its end comes later, as `done` or `failed`. */
  | { type: `${Name}.started`; callId: string; args: Args }
  /** The tool has succeeded. `text`: as the model would see it. */
  | { type: `${Name}.done`; callId: string; args: Args; result: ResultOf<Result>; text: string }
  /** The tool has failed. `inDoubt`: its process or its run ended, so that it may have taken effect. */
  | { type: `${Name}.failed`; callId: string; args: Args; error: string; inDoubt?: true }

/**
 * The result as a run stores it: objects and lists as they are, anything else as text. A text that is JSON of an object or
 * a list arrives as that, and a result that was too long to be kept whole as null.
 */
type ResultOf<Result> = Awaited<Result> extends object ? Awaited<Result> : JsonValue
