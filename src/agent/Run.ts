import type { Snapshot } from 'xstate'
import type { AgentEmitted, MessageTiming } from '../../machines/agent/events.ts'
import { stateName } from '../../machines/agent/states.ts'
import { ConfigurationError } from '../messages/errors.ts'
import type { ChatMessage } from '../messages/messages.ts'
import { checkOptions, oneOf } from '../messages/optionRules.ts'
import type { ChatResult, PendingCall, SendResult } from '../messages/result.ts'
import { type AboutQuestion, type ApprovalOptions, unknownField } from '../tools/approval.ts'
import { ChunkStream } from './ChunkStream.ts'
import { answer, approval, rejection, waitingCall } from './commands.ts'
import type { AnyOptions } from './options.ts'
import type { RunInternals } from './RunInternals.ts'
import { checkEventName } from './RunListeners.ts'

type Listener<Type> = (event: Type extends '*' ? AgentEmitted : Extract<AgentEmitted, { type: Type }>) => void

/**
 * The handle of one run: watch it, decide on its pending calls, steer it, end it, store it. It has exactly one outcome,
 * and no promise is left open.
 *
 * A run that waits for an approval, or for the answer of an external tool, is paused: `result` resolves with
 * `pendingApproval`, and a loop over the chunks ends, unless you decide inside it. With `approve`, `reject` and
 * `answer` it continues, and `result` is a new promise for the rest. If you listen for `tool.approval` or
 * `tool.external`, you are expected to decide: then `result` and the loop wait for that.
 *
 * @example
 * const run = agent.start('Delete notes.txt')
 * run.on('tool.approval', ({ callId }) => run.approve(callId))
 * for await (const chunk of run) process.stdout.write(chunk.output)
 * const { usage } = await run.result
 */
export class Run<T = string, C = T> implements AsyncIterable<ChatResult<C>> {
  /** The id of the run. It sorts by time; a stored run keeps its id. */
  readonly id: string
  readonly #internals: RunInternals<T, C>

  /** @internal Use `agent.start`. */
  constructor(internals: RunInternals<T, C>) {
    this.id = internals.id
    this.#internals = internals
  }

  /** The current state of the chart: `Accumulating`, `ToolExecution`, or a state of the orchestrator. */
  get state(): string {
    return stateName(this.#internals.stateValue)
  }

  /** The pending calls of the run, each with its kind. */
  get pending(): PendingCall[] {
    return this.#internals.pending
  }

  /** The messages that the run has added to the conversation so far. */
  get messages(): readonly ChatMessage[] {
    return this.#internals.partial().messages
  }

  /** The result of `send`, or its typed error. After a wait it is a new promise for the rest. */
  get result(): Promise<SendResult<T>> {
    return this.#internals.result()
  }

  /** Calls back for each event of a type that the run emits, or for all (`*`). A listener cannot break the run. */
  on<Type extends AgentEmitted['type'] | '*'>(type: Type, listener: Listener<Type>): { unsubscribe(): void } {
    checkEventName(type)
    return this.#internals.on(type, listener as (event: AgentEmitted) => void)
  }

  /** All chunks from the first one, whenever the loop starts. Leaving the last loop early aborts the run. */
  [Symbol.asyncIterator](): AsyncIterableIterator<ChatResult<C>> {
    return new ChunkStream((stream) => this.#internals.read(stream))
  }

  /** Ends the run: its result is an `AbortedError` with the partial result. A run that is over does not change. */
  abort(reason = ''): void {
    this.#internals.abort(reason)
  }

  /** Adds a message. The model sees it with its next request, or at the moment that `when` names. */
  steer(text: string, options: { when?: MessageTiming } = {}): void {
    checkOptions<{ when?: MessageTiming }>('The options of steer', options, {
      when: oneOf('now', 'step', 'idle'),
    })
    this.#internals.steer(text, options.when ?? 'step')
  }

  /**
   * Approves a pending call, perhaps with other arguments, or for later calls, too. Approving a limit lets the run
   * continue: up to the limits in `arguments`, or else by as much again.
   */
  approve(callId: string, options: ApprovalOptions = {}): void {
    checkFields('The options of approve', options)
    const { question } = options
    const call = waitingCall(
      this.#internals.questionsAbout(callId),
      { callId, ...(question !== undefined && { question }) },
      'approval',
    )
    this.#internals.send(approval(call, options))
  }

  /** Refuses a pending call; the model learns why. Refusing to raise a limit ends the run. */
  reject(callId: string, reason?: string, about: AboutQuestion = {}): void {
    checkFields('The options of reject', about)
    this.#internals.send(
      rejection(waitingCall(this.#internals.questionsAbout(callId), { callId, ...about }), reason),
    )
  }

  /** Gives the result of an external tool: a text, JSON or parts, as from `execute`. */
  answer(callId: string, result: unknown, options: { isError?: boolean } & AboutQuestion = {}): void {
    checkFields('The options of answer', { ...options, result })
    const { question } = options
    const call = waitingCall(
      this.#internals.questionsAbout(callId),
      { callId, ...(question !== undefined && { question }) },
      'answer',
    )
    this.#internals.send(answer(call, result, options))
  }

  /** The run as JSON, at any moment: `agent.start({ snapshot })` continues from it, even in another process. */
  snapshot(): Snapshot<unknown> {
    return this.#internals.snapshot()
  }
}

/** Refuses a misspelled field: an approval without its arguments would run the call as the model wrote it. */
const checkFields = (name: string, decision: object): void => {
  const unknown = unknownField(name, decision)
  if (unknown !== undefined) throw new ConfigurationError(unknown)
}

/** A run with any output. */
export type AnyRun = Pick<Run<unknown, unknown>, keyof Run<unknown, unknown>>

/** Gives the handle of a run to those that asked for it, before the run starts. */
export const announce = <T, C>(internals: RunInternals<T, C>, { onRun, onStart }: AnyOptions): void => {
  if (!onRun && !onStart) return
  const run = new Run(internals)
  onRun?.(run, internals)
  if (onStart) started(onStart, run)
}

/** Calls `onStart`. One that throws fails the send; a promise that rejects must not end the process. */
export const started = (onStart: (run: AnyRun) => unknown, run: AnyRun): void =>
  void Promise.resolve(onStart(run)).catch(() => {})
