import type { Snapshot } from 'xstate'
import type { Compaction } from '../../src/messages/compaction.ts'
import type { ErrorData, ToolExecutionError } from '../../src/messages/errors.ts'
import type { JsonObject, JsonValue } from '../../src/messages/json.ts'
import type { ChatMessage, Part, ToolCallPart, ToolResultPart } from '../../src/messages/messages.ts'
import type { ChatResult, PendingCall, Reached, Usage, Warning } from '../../src/messages/result.ts'
import type { GenerationSettings } from '../../src/model/chatModel.ts'
import type { Delta } from '../../src/model/delta.ts'
import type { ModelPrices } from '../../src/model/prices.ts'
import type { ApprovalOptions } from '../../src/tools/approval.ts'
import type { PrefixChange, RequestPrefix, SentPrefix } from '../model/requestPrefix.ts'
import type { Verdict, Verdicts } from '../policy/openQuestions.ts'
import type { Gate } from '../policy/questions.ts'
import type { LimitReached, RunLimits } from './limits.ts'
import type { Task } from './streamingState.ts'

/** The value that the tools of a run get as their `context`: required if one of them needs it. */
export type ContextOption<Deps> = undefined extends Deps
  ? {
      /** The `context` of the tools of this run. Never stored: a resumed run is given it again. */
      context?: Deps
    }
  : {
      /** The `context` of the tools of this run. Never stored: a resumed run is given it again. */
      context: Deps
    }

/** The input of a run: plain JSON, and the `context` of its tools, which may be any value and is never stored. */
export type AgentInput<Deps = unknown> = StoredInput & ContextOption<Deps>

/** The part of a run's input that is stored. Plain JSON. */
type StoredInput = {
  prompt?: string | Part[]
  /** Parts that are added to the prompt. */
  attachments?: Part[]
  /** Metadata of the prompt's message, such as its id in a page. No provider gets it. */
  metadata?: JsonObject
  /** The conversation so far; without a prompt its last message must be the user's. */
  history?: ChatMessage[]
  /** Asks for an answer of this shape. The answer is text, which is not checked: `Agent.machineFor` checks it. */
  outputSchema?: JsonObject
  /** The id of the run. */
  id?: string
  /** A system prompt in place of the agent's. */
  system?: string
  /** Settings in place of the agent's settings of the same name. */
  settings?: GenerationSettings
  /** A limit in place of the agent's: short for `limits.steps`. */
  maxSteps?: number
  /** Limits in place of the agent's limits of the same name. */
  limits?: RunLimits
  /** The policy as the last run of the conversation left it (`result.policy`). */
  policy?: JsonObject
  /**
   * The questions that the policy is not asked, because the run is a part of a larger one: its prompt or its text is
   * not that of the whole.
   */
  unasked?: ('prompt' | 'answer')[]
  /** Set by the run itself if it gets a `context`: restored without one, it fails. */
  hasContext?: boolean
  /** The last request of the conversation, as a stored chat has it: a first request that differs is reported. */
  prefix?: RequestPrefix
}

/** A command to a running agent. */
export type AgentCommand =
  | { type: 'abort'; reason?: string }
  /**
   * Approves a call, or lets a run that asks at a limit continue: up to the limits in `arguments`, or else by as much
   * again. With a `question`, a decision counts for that question only: see {@link PendingCall}.
   */
  | ({ type: 'tool.approve'; callId: string } & ApprovalOptions)
  /** Refuses a call, or ends a run that asks at a limit. */
  | { type: 'tool.reject'; callId: string; question?: string | undefined; reason?: string }
  /** The result of an external tool: a text, JSON or parts, as from `execute`. */
  | { type: 'tool.answer'; callId: string; question?: string | undefined; result: unknown; isError?: boolean }
  /** Adds a user message at the next turn boundary. */
  | { type: 'steer'; text: string }
  /**
   * A message of the user, which the model sees at once, at its next request, or when it is done: see {@link
   * MessageTiming}. If it waits until the model is done, it is a separate message with its `metadata`, such as its id
   * in a page.
   */
  | { type: 'message'; text: string; when?: MessageTiming; metadata?: JsonObject }
  /** Shortens the conversation for the model, before its next answer. */
  | { type: 'compact' }
  /** Ends a sleep of the model (`sleepTool`), and adds a user message at the next turn boundary, if there is one. */
  | { type: 'wake'; message?: string }
  /**
   * A command for a background agent at any depth below the run. Decisions on its calls name it in their `callId`. If
   * it has ended, a text goes to the run that started it, so that it is not lost.
   */
  | { type: 'task.command'; task: string; command: TaskCommand }

/** A command that a background agent takes as any run does. */
export type TaskCommand = Extract<
  AgentCommand,
  { type: 'abort' | 'steer' | 'message' | 'compact' | 'wake' | 'task.command' }
>

/**
 * The moment at which the model sees a message. `now`: an answer that streams is cut off, and the model is asked again; tools that
 * run come first. `step`: with its next request, as with `steer`. `idle`: when it has nothing left to do, as another turn of
 * the same run. Default: `'step'`.
 */
export type MessageTiming = 'now' | 'step' | 'idle'

/** A decision on a call, or its answer. */
export type CallCommand = Extract<AgentCommand, { callId: string }>

/** An event from one of the agent's own children. `at` is the time of the clock, so that guards stay pure. */
export type ChildEvent =
  /**
   * The deltas of one network read; `seq` counts the reads of one request from 0. The first has the request as `sent`.
   */
  | { type: 'model.deltas'; deltas: readonly Delta[]; seq: number; at: number; sent?: SentPrefix }
  /** The choices of `prepareStep` for the request. */
  | { type: 'model.prepared'; prepared: PreparedRequest }
  | { type: 'model.done'; at: number }
  | { type: 'model.failed'; error: ErrorData; at: number }
  | { type: 'timer.fired'; at: number }
  /** The text that a model wrote when it was asked for a summary. */
  | { type: 'summary.done'; text: string; usage: Usage | null }
  | { type: 'summary.failed'; error: ErrorData; usage: Usage | null }
  /** Results of calls, one at a time or those of a whole batch. `usage`: the tokens that the tools themselves used. */
  | { type: 'tool.finished'; results: readonly ToolResultPart[]; usage?: Usage }
  /** The progress of a call. */
  | { type: 'tool.progress'; callId: string; value: JsonValue }
  /** The calls that the sub-agent of a call waits for; `isAtWork`: other parts of it do not wait. */
  | { type: 'tool.waiting'; callId: string; calls: readonly PendingCall[]; isAtWork: boolean }
  /** The executor was restored, with these runs of sub-agents: the calls that were running are cut off. */
  | { type: 'tool.restored'; runs: { [callId: string]: Snapshot<unknown> } }
  /** A decision for a sub-agent that is not restored yet. */
  | { type: 'tool.postponed'; callId: string; command: CallCommand }
  /** The sub-agent of a call is restored. */
  | { type: 'tool.resumed'; callId: string }
  /** A background agent has ended, with its text or the reason why it has none. */
  | {
      type: 'task.finished'
      id: string
      status: TaskEnd
      text: string
      usage?: Usage
      step?: number
      tasks?: readonly Task[]
    }
  /** The calls that a background agent waits for, as `tool.waiting`, until when it waits, and its usage so far. */
  | {
      type: 'task.report'
      id: string
      calls: readonly PendingCall[]
      isAtWork: boolean
      due?: number
      usage?: Usage
    }
  /** The background agents were restored, with the runs of these tasks: the others start again. */
  | { type: 'task.restored'; ids: readonly string[] }
  /** The policy was restored: a run that waits for its verdict asks again. */
  | { type: 'policy.ready' }
  /** The policy is in a state tagged `hold`: the verdict comes later. */
  | { type: 'policy.holds'; id: string }
  /** The verdicts on a question, by the keys of its items. `ended`: the policy has ended in a state that refuses. */
  | { type: 'policy.verdict'; id: string; verdicts: Verdicts; ended?: Verdict }

/** The ends of a task. */
export type TaskEnd = 'complete' | 'failed' | 'aborted'

/** Every event of the machine of a run. */
export type AgentEvent = AgentCommand | ChildEvent

/** An event that a run emits to its listeners (`actor.on`). A chunk is the same object that `sendStream` yields. */
export type AgentEmitted =
  | ({ type: 'chunk' } & ChatResult)
  | { type: 'message'; message: ChatMessage }
  | { type: 'tool.delta'; index: number; id?: string; name?: string; arguments: string }
  /**
   * A person must decide on this call: answer with `tool.approve` or `tool.reject`, or, for a call in doubt, with
   * `tool.answer`.
   */
  | {
      type: 'tool.approval'
      callId: string
      question?: string
      expiresAt?: number
      call: ToolCallPart
      inDoubt?: true
    }
  /** A call that is answered from outside: with `tool.answer`. */
  | { type: 'tool.external'; callId: string; question?: string; expiresAt?: number; call: ToolCallPart }
  | { type: 'tool.call'; callId: string; call: ToolCallPart }
  /** The progress of a call, as its tool reports it (`report`). */
  | { type: 'tool.progress'; callId: string; value: JsonValue }
  /** `error`: the exception of its tool, with the thrown value as its `cause`. It is never stored. */
  | { type: 'tool.result'; callId: string; result: ToolResultPart; error?: ToolExecutionError }
  | ({ type: 'step'; step: number; usage: Usage | null; metrics: StepMetrics } & Asked)
  /** `restart`: the answer starts over; discard the text and the pieces of calls that were shown. */
  | { type: 'retry'; attempt: number; delayMs: number; restart: boolean; error: ErrorData | null }
  /** The model sees less of the conversation from now on: see {@link Compaction}. */
  | ({ type: 'compaction' } & Compaction)
  /** A limit is reached. A run that asks waits for a decision on this call: `tool.approve` or `tool.reject`. */
  | ({ type: 'limit'; callId: string; question?: string } & LimitReached)
  /** The model did not get a setting as it was given: see {@link Warning}. Once per run, setting and model. */
  | ({ type: 'warning' } & Warning)
  /**
   * A verdict of the policy: on a call, before it runs (`Calls`) and on its result (`Results`), on a prompt, an answer or a
   * message that steers the run.
   */
  | {
      type: 'policy'
      gate: Gate | 'Steering'
      callId?: string
      verdict: Verdict['verdict']
      state: string
      reason?: string
    }
  /**
   * A request did not begin with the previous one of its conversation: the provider's cache and signed thinking are
   * valid only up to the first difference. The event comes with the answer, once the tokens are known.
   */
  | ({ type: 'prefix' } & PrefixChange)
  /** The run continues with another model; `restart` as above. */
  | { type: 'fallback'; provider: string; model: string; restart: boolean; error: ErrorData | null }

/** The agent that asked, if it has a name, the model that was asked, and the wire protocol where it is known. */
export type Asked = { agent?: string; provider: string; model: string; protocol?: string }

/** The choices of `prepareStep`, as data. */
export type PreparedRequest = {
  /** The list prices of the model, for the cost of its answer. */
  prices?: ModelPrices
  provider: string
  model: string
  protocol?: string
  /** The names of the tools that are offered; null: all. */
  tools: string[] | null
}

/** The time that a model call took, and the number of chunks of its answer. */
export type StepMetrics = { timeToFirstChunkMs: number | null; durationMs: number; chunks: number }

/** The end of a run: exactly one of these, always with the result so far. */
export type AgentOutput<T = string> =
  | ({ status: 'complete' } & Result<T>)
  | ({ status: 'failed'; error: ErrorData } & Result)
  | ({ status: 'aborted'; reason: string } & Result)

type Result<T = string> = ChatResult<T> & Partial<Reached<T>>

/**
 * An event that a run sends to the machine that invoked or spawned it, with the id of the child: when it begins to wait
 * for people, when it works again, and when it ends, but never for a chunk.
 */
export type AgentReport<T = string> =
  | { type: 'agent.waiting'; id: string; calls: PendingCall[] }
  | { type: 'agent.working'; id: string }
  | { type: 'agent.done'; id: string; output: AgentOutput<T> }
