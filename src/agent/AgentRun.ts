import { type Actor, type AnyActorRef, createActor, type Snapshot } from 'xstate'
import { type RunResult, resultOf, textOfRun } from '../../machines/agentOutput.ts'
import type { AgentMachine } from '../../machines/agentSnapshot.ts'
import { decisionOn } from '../../machines/approver.ts'
import type { AgentCommand, AgentEmitted, AgentInput, AgentOutput } from '../../machines/events.ts'
import {
  AbortedError,
  ConfigurationError,
  describeThrown,
  errorFrom,
  OrchestrationError,
} from '../messages/errors.ts'
import type { ChatMessage, ToolCallPart } from '../messages/messages.ts'
import type { ChatResult } from '../messages/result.ts'
import type { Clock } from '../model/clock.ts'
import type { Approval } from '../tools/approval.ts'
import { onAbort } from '../transport/onAbort.ts'
import type { Inspect } from './harmlessInspect.ts'

/** What a run begins with: an input, or the snapshot of a run that was stored. */
export type RunStart = { input: AgentInput } | { snapshot: Snapshot<unknown> }

export type RunOptions = {
  signal?: AbortSignal | undefined
  inspect?: Inspect | undefined
  clock?: Clock | undefined
  /** The name of the orchestrator, in errors and in the inspector; default that of its machine. */
  name?: string | undefined
  /** Whether a run that waits for approvals is put aside, to be resumed: nobody here can decide. */
  isSuspending: boolean
  /** The actor this run belongs to: it shows up below it in the inspector. */
  parent?: AnyActorRef | undefined
}

/** Where a run tells its outcome: exactly one of `complete` and `fail` is called. */
export type RunHandlers = {
  chunk?: (chunk: ChatResult) => void
  complete: (result: ChatResult) => void
  fail: (error: Error) => void
}

/**
 * One run of an agent's machine for callers who want no actor: results and typed errors go to the handlers, exactly
 * one of `complete` and `fail` is called, and nothing is left behind afterwards.
 */
export class AgentRun {
  readonly #actor: Actor<AgentMachine>
  readonly #options: RunOptions
  readonly #handlers: RunHandlers
  readonly #messages: ChatMessage[] = []
  #pending: ToolCallPart[] = []
  #isSettled = false
  #forgetSignal = () => {}

  constructor(machine: AgentMachine, start: RunStart, options: RunOptions, handlers: RunHandlers) {
    const { inspect, parent, clock, name } = options
    this.#options = options
    this.#handlers = handlers
    // A restored machine takes its data from the snapshot; the input is then only asked for by the types.
    this.#actor = createActor(machine, {
      input: 'input' in start ? start.input : {},
      ...('snapshot' in start && { snapshot: start.snapshot }),
      ...(inspect && { inspect }),
      ...(parent && { parent }),
      ...(clock && { clock }),
      ...(name !== undefined && { id: name }),
    })
  }

  /** Starts the run; once. */
  start(): void {
    const { signal } = this.#options
    if (signal?.aborted) {
      this.#fail(neverStarted(signal))
      return
    }
    if (signal) this.#forgetSignal = onAbort(signal, this.#abort)
    this.#actor.on('*', this.#hear)
    this.#actor.subscribe({ error: this.#crashed, complete: this.#done })
    this.#actor.start()
  }

  /** Sends a command to the run: `abort`, `steer`, or a decision on a call. */
  send(command: AgentCommand): void {
    this.#actor.send(command)
  }

  /** Answers calls that wait for approval; those without a decision stay pending. */
  decide(calls: readonly ToolCallPart[], decisions: Record<string, Approval>): void {
    for (const call of calls) {
      const approval = Object.hasOwn(decisions, call.id) ? decisions[call.id] : undefined
      if (approval === undefined) this.#setAside(call)
      else this.#actor.send(decisionOn(call.id, approval))
    }
  }

  /** Leaves the run: closes the socket, signals the tools, tells nobody. */
  stop(): void {
    this.#isSettled = true
    this.#forgetSignal()
    // XState lets only roots be stopped; a child ends by itself once it is aborted.
    if (this.#options.parent) this.#actor.send({ type: 'abort' })
    else this.#actor.stop()
  }

  readonly #hear = (event: AgentEmitted): void => {
    if (event.type === 'chunk') this.#tell(event)
    else if (event.type === 'message') this.#messages.push(event.message)
    else if (event.type === 'tool.approval' && this.#options.isSuspending) this.#setAside(event.call)
  }

  /** XState would leave what a handler throws to the process. */
  #tell(chunk: ChatResult): void {
    // A run that did not complete ends with an error, not with a last chunk as well.
    const isEnd = chunk.finishReason !== 'unspecified'
    if (this.#isSettled || (isEnd && this.#actor.getSnapshot().output?.status !== 'complete')) return
    try {
      this.#handlers.chunk?.(chunk)
    } catch (thrown) {
      this.#crashed(thrown)
      this.stop()
    }
  }

  readonly #abort = () => this.#actor.send({ type: 'abort', reason: describeReason(this.#options.signal) })

  #setAside(call: ToolCallPart): void {
    this.#pending.push(call)
    // All calls of the turn are announced one after the other: the run is stored once they are all known.
    if (this.#pending.length === 1) queueMicrotask(this.#suspend)
  }

  readonly #suspend = () => {
    const [first, ...others] = this.#pending
    if (this.#isSettled || !first) return
    try {
      const snapshot = JSON.parse(JSON.stringify(this.#actor.getPersistedSnapshot()))
      const partial = this.#partial()
      this.stop()
      this.#handlers.complete({
        ...partial,
        finishReason: 'toolCalls',
        pendingApproval: { calls: [first, ...others], snapshot },
      })
    } catch (cause) {
      // Data that cannot be stored, such as that of an orchestrator of the user's.
      this.#crashed(cause)
      this.stop()
    }
  }

  readonly #done = () => {
    const { output } = this.#actor.getSnapshot()
    // A stopped actor completes without an output.
    if (!output) return
    const [result, error] = outcomeOf(output)
    if (error) this.#fail(error)
    else if (this.#settle()) this.#handlers.complete(result)
  }

  readonly #crashed = (cause: unknown) => {
    // What was to be run, such as a stored snapshot, could not be used: nothing broke.
    if (cause instanceof ConfigurationError) return this.#fail(cause)
    const { id = 'unknown' }: { id?: string } = this.#actor.logic
    const orchestrator = this.#options.name ?? id
    const state = JSON.stringify(this.#actor.getSnapshot().value) ?? 'its only state'
    const problem = `The machine "${orchestrator}" broke in ${state}: ${describeThrown(cause)}`
    this.#fail(new OrchestrationError(problem, { cause, orchestrator, state, partial: this.#partial() }))
  }

  #fail(error: Error): void {
    if (this.#settle()) this.#handlers.fail(error)
  }

  /** Whether this is the first outcome: there is only one. */
  #settle(): boolean {
    this.#forgetSignal()
    const isFirst = !this.#isSettled
    this.#isSettled = true
    return isFirst
  }

  /** What the run has so far. An orchestrator's own data may not know yet what its runs have already told. */
  #partial(): ChatResult {
    const { context }: { context?: RunResult } = this.#actor.getSnapshot()
    // A user's own orchestrator need not keep its data as ours do, nor be a chart at all.
    const known = context?.totals && Array.isArray(context.messages) ? resultOf(context) : nothingYet
    const messages = known.messages.length < this.#messages.length ? this.#messages : known.messages
    return { ...known, messages, output: textOfRun(messages) }
  }
}

const outcomeOf = (output: AgentOutput): [ChatResult, Error?] => {
  if (output.status === 'failed') {
    const { status: _, error, ...partial } = output
    return [partial, errorFrom(error, partial)]
  }
  if (output.status === 'aborted') {
    const { status: _, reason, ...partial } = output
    return [partial, abortedError(reason, partial)]
  }
  const { status: _, ...result } = output
  return [result]
}

const abortedError = (reason: string, partial: ChatResult) =>
  new AbortedError(reason === '' ? 'The run was aborted.' : `The run was aborted: ${reason}`, { partial })

/** The error of a run whose signal was aborted before it began. */
export const neverStarted = (signal: AbortSignal | undefined): AbortedError =>
  abortedError(describeReason(signal), nothingYet)

const describeReason = (signal: AbortSignal | undefined): string =>
  signal?.reason === undefined ? '' : describeThrown(signal.reason)

const nothingYet: ChatResult = { id: '', output: '', messages: [], finishReason: 'aborted', metadata: {} }
