import { type Actor, createActor, type Snapshot } from 'xstate'
import { isRunResult, lastText, resultOf, textOfRun } from '../../machines/agent/agentOutput.ts'
import type { AgentMachine } from '../../machines/agent/agentSnapshot.ts'
import { askEvent } from '../../machines/agent/announcements.ts'
import type { AgentCommand, AgentEmitted } from '../../machines/agent/events.ts'
import { messagesIn, pendingIn, unattendedIn } from '../../machines/tools/pendingCalls.ts'
import { ConfigurationError, describeThrown, OrchestrationError } from '../messages/errors.ts'
import { isJsonObject } from '../messages/json.ts'
import type { ChatMessage } from '../messages/messages.ts'
import {
  type ChatResult,
  type PendingApproval,
  type PendingCall,
  type SendResult,
  waitReason,
} from '../messages/result.ts'
import type { ApprovalOptions, CallDecision } from '../tools/approval.ts'
import { onAbort } from '../transport/onAbort.ts'
import { ChunkStream } from './ChunkStream.ts'
import { answer, approval, commandsFor, waitingCall } from './commands.ts'
import {
  abortedError,
  isWaiting,
  neverStarted,
  nothingReached,
  outcomeOf,
  type RunOutcome,
  reasonOf,
} from './runOutcome.ts'
import type { ChunkReader, RunSetup } from './runSetup.ts'
import { harmlessListener } from './watching.ts'

type Listener<Type> = (event: Type extends '*' ? AgentEmitted : Extract<AgentEmitted, { type: Type }>) => void
/** A listener, and the calls that were announced to it. */
type Listening = { type: string; hear: (event: AgentEmitted) => void; heard: Set<string> }
type Reading<C> = { reader: ChunkReader; stream: ChunkStream<ChatResult<C>> }
type Leg = { promise: Promise<RunOutcome>; settle: (outcome: RunOutcome) => void }

const newLeg = (): Leg => {
  let settle: Leg['settle'] = () => {}
  const promise = new Promise<RunOutcome>((resolve) => {
    settle = resolve
  })
  return { promise, settle }
}

const decidersOf: Readonly<Record<string, PendingCall['kind']>> = {
  'tool.approval': 'approval',
  'tool.external': 'answer',
  limit: 'limit',
}

const keyOf = (event: AgentEmitted): string => ('callId' in event ? `${event.type} ${event.callId}` : '')

let beginning: <T, C>(run: Run<T, C>) => void
let reading: <T, C>(run: Run<T, C>, stream: ChunkStream<ChatResult<C>>) => () => void
let gripping: <T, C>(run: Run<T, C>) => RunGrip

/** Starts a run that was made. */
export const beginRun = <T, C>(run: Run<T, C>): void => beginning(run)

/** Shows a run to a stream; the function returned leaves it. */
export const readRun = <T, C>(run: Run<T, C>, stream: ChunkStream<ChatResult<C>>): (() => void) =>
  reading(run, stream)

/** What `Chat` does with its run that a handle cannot. */
export type RunGrip = {
  /** What the run waits for at this moment, to be resumed. */
  wait(): PendingApproval | undefined
  /** Gives up a run that waits: it continues from its snapshot, and must not do so twice. */
  release(): void
}

export const gripOn = <T, C>(run: Run<T, C>): RunGrip => gripping(run)

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
  /** Sorts by time; a stored run keeps its id. */
  readonly id: string
  readonly #setup: RunSetup<T, C>
  readonly #actor: Actor<AgentMachine>
  readonly #messages: ChatMessage[] = []
  readonly #chunks: ChatResult[] = []
  readonly #readings = new Set<Reading<C>>()
  readonly #listeners = new Set<Listening>()
  /** The way to the next wait, or to the end. */
  #leg = newLeg()
  #outcome: RunOutcome | undefined
  #hasBegun = false
  /** Whether it can continue after a wait. */
  #isHeld: boolean
  #forgetSignal = () => {}

  static {
    beginning = (run) => run.#begin()
    reading = (run, stream) => run.#read(stream)
    gripping = (run) => ({ wait: () => run.#waitsFor(), release: () => run.#release() })
  }

  /** @internal Use `agent.start`. */
  constructor(setup: RunSetup<T, C>) {
    const { id, machine, start, inspect, parent, clock, name } = setup
    this.id = id
    this.#setup = setup
    this.#isHeld = setup.isHeld
    // A restored machine takes its data from the snapshot; only the types ask for an input then.
    this.#actor = createActor(machine, {
      input: 'input' in start ? start.input : {},
      ...('snapshot' in start && { snapshot: start.snapshot }),
      ...(inspect && { inspect }),
      ...(parent && { parent }),
      ...(clock && { clock }),
      ...(name !== undefined && { id: name }),
    })
  }

  /** The state of the chart that the run is in: `Accumulating`, `ToolExecution`, or one of its orchestrator's. */
  get state(): string {
    const { value }: { value?: unknown } = this.#actor.getSnapshot()
    return typeof value === 'string' ? value : (Object.keys(isJsonObject(value) ? value : {})[0] ?? '')
  }

  /** The pending calls of the run, each with its kind. */
  get pending(): PendingCall[] {
    return pendingIn(this.#actor.getSnapshot())
  }

  /** What the run has added to the conversation so far. */
  get messages(): readonly ChatMessage[] {
    return this.#partial().messages
  }

  /** The result of `send`, or its typed error. After a wait it is a new promise for the rest. */
  get result(): Promise<SendResult<T>> {
    return this.#result()
  }

  /** Calls back for each event of a type that the run emits, or for all (`*`). A listener cannot break the run. */
  on<Type extends AgentEmitted['type'] | '*'>(type: Type, listener: Listener<Type>): { unsubscribe(): void } {
    const call = harmlessListener(listener as (event: AgentEmitted) => void)
    const heard = new Set<string>()
    const hear = (event: AgentEmitted) => {
      if (event.type in decidersOf) heard.add(keyOf(event))
      call(event)
    }
    const entry = { type, hear, heard }
    this.#listeners.add(entry)
    const subscription = this.#actor.on(type, hear)
    // A call may already wait; before the start, a listener may decide on it there. A listener that leaves may have been
    // the one expected to decide.
    if (this.#hasBegun) this.#waitIfUnattended()
    const unsubscribe = () => {
      this.#listeners.delete(entry)
      subscription.unsubscribe()
      this.#waitIfUnattended()
    }
    return { unsubscribe }
  }

  /** All chunks from the first one, whenever the loop starts. Leaving the last loop early aborts the run. */
  [Symbol.asyncIterator](): AsyncIterableIterator<ChatResult<C>> {
    return new ChunkStream((stream) => this.#read(stream))
  }

  /** Ends the run: its result is an `AbortedError` with the partial result. A run that is over does not change. */
  abort(reason = ''): void {
    if (this.#isOver) return
    if (this.#hasBegun) this.#goOn({ type: 'abort', reason })
    else this.#settle({ error: () => abortedError(reason, nothingReached) })
  }

  /** Adds a message, which the model sees at its next turn. */
  steer(text: string): void {
    if (this.#isOver)
      throw new OrchestrationError(
        'The run is over, or paused, and cannot be steered: send a new prompt, or resume it.',
      )
    this.#actor.send({ type: 'steer', text })
  }

  /** Approves a pending call, if you like with other arguments, or for later calls as well. */
  approve(callId: string, options: ApprovalOptions = {}): void {
    this.#goOn(approval(waitingCall(this.pending, callId, 'approval'), options))
  }

  /** Refuses a pending call; the model learns why. */
  reject(callId: string, reason?: string): void {
    waitingCall(this.pending, callId)
    this.#goOn({ type: 'tool.reject', callId, ...(reason !== undefined && { reason }) })
  }

  /** Gives the result of an external tool: a text, JSON or parts, as from `execute`. */
  answer(callId: string, result: unknown, { isError = false }: { isError?: boolean } = {}): void {
    this.#goOn(answer(waitingCall(this.pending, callId, 'answer'), result, isError))
  }

  /** The run as JSON, at any moment: `agent.start({ snapshot })` continues from it, also in another process. */
  snapshot(): Snapshot<unknown> {
    try {
      return JSON.parse(JSON.stringify(this.#actor.getPersistedSnapshot()))
    } catch (cause) {
      throw new OrchestrationError(`The run cannot be stored: ${describeThrown(cause)}`, { cause })
    }
  }

  async #result(): Promise<SendResult<T>> {
    const outcome = await this.#leg.promise
    if ('error' in outcome) throw outcome.error()
    return this.#setup.finish(outcome.result)
  }

  /** It has ended, and does not only wait. Without a handle, a run that waits has ended, too. */
  get #isOver(): boolean {
    return this.#outcome !== undefined && !(this.#isHeld && isWaiting(this.#outcome))
  }

  #begin(): void {
    if (this.#outcome || this.#hasBegun) return
    const { start, signal } = this.#setup
    if (signal?.aborted) {
      this.#settle({ error: () => neverStarted(signal) })
      return
    }
    this.#hasBegun = true
    this.#followSignal()
    this.#actor.on('*', this.#hear)
    this.#actor.subscribe({ error: this.#crashed, complete: this.#done })
    this.#actor.start()
    if ('snapshot' in start && !this.#outcome) this.#decideOn(start.decisions)
  }

  /** What was decided while the run was stored. */
  #decideOn(decisions: Readonly<Record<string, CallDecision>>): void {
    try {
      for (const command of commandsFor(decisions, this.pending)) this.#actor.send(command)
      this.#waitIfUnattended()
    } catch (thrown) {
      this.#crashed(thrown)
      this.#stop()
    }
  }

  /** Announces a pending call to listeners that have not heard of it: they came later, or the run was stored meanwhile. */
  #announce(call: PendingCall): void {
    const event = askEvent(call)
    for (const { type, hear, heard } of this.#listeners)
      if ((type === event.type || type === '*') && !heard.has(keyOf(event))) hear(event)
  }

  #followSignal(): void {
    const { signal } = this.#setup
    this.#forgetSignal()
    if (!signal) return
    this.#forgetSignal = onAbort(signal, () => this.abort(reasonOf(signal)))
    if (signal.aborted) queueMicrotask(() => this.abort(reasonOf(signal)))
  }

  #goOn(command: AgentCommand): void {
    this.#endWait()
    this.#actor.send(command)
    this.#waitIfUnattended()
  }

  /** What follows is another leg, with its own result. */
  #endWait(): void {
    if (!this.#outcome || !isWaiting(this.#outcome)) return
    this.#outcome = undefined
    this.#leg = newLeg()
    this.#followSignal()
    for (const { stream } of this.#readings) stream.reopen()
  }

  readonly #hear = (event: AgentEmitted): void => {
    // An observer of the actor, such as the inspector, may have decided.
    this.#endWait()
    if (event.type === 'chunk') this.#show(event)
    else if (event.type === 'message') this.#messages.push(event.message)
    else if (event.type in decidersOf) this.#waitIfUnattended()
  }

  #show(chunk: ChatResult): void {
    // A run that did not complete ends with an error, not with a last chunk as well.
    const isEnd = chunk.finishReason !== 'unspecified'
    if (this.#outcome || (isEnd && this.#actor.getSnapshot().output?.status !== 'complete')) return
    if (this.#isHeld) this.#chunks.push(chunk)
    for (const { reader } of this.#readings) reader.chunk(chunk)
  }

  /** All calls of a turn are announced one after the other, and may be decided on at once. */
  #waitIfUnattended(): void {
    queueMicrotask(() => {
      if (!this.#hasBegun) return
      for (const call of unattendedIn(this.#actor.getSnapshot())) this.#announce(call)
      const calls = this.#outcome ? [] : unattendedIn(this.#actor.getSnapshot())
      const listening = new Set([...this.#listeners].map(({ type }) => decidersOf[type]))
      if (calls.some(({ kind }) => !listening.has(kind))) this.#wait()
    })
  }

  #wait(): void {
    try {
      const pendingApproval = this.#waitsFor()
      if (!pendingApproval) return
      this.#settle({
        result: { ...this.#partial(), finishReason: waitReason(pendingApproval.calls), pendingApproval },
      })
      // Without a handle it can only continue from its snapshot, and must not do so twice.
      if (!this.#isHeld) this.#stop()
    } catch (thrown) {
      // Data that cannot be stored, such as that of a user's orchestrator.
      this.#crashed(thrown)
      this.#stop()
    }
  }

  #read(stream: ChunkStream<ChatResult<C>>): () => void {
    const entry = { reader: this.#setup.readerOf(stream), stream }
    for (const chunk of this.#chunks) entry.reader.chunk(chunk)
    this.#readings.add(entry)
    if (this.#outcome) showOutcome(entry.reader, this.#outcome)
    return () => {
      this.#readings.delete(entry)
      if (this.#readings.size === 0 && !this.#outcome) this.#leave()
    }
  }

  #waitsFor(): PendingApproval | undefined {
    if (this.#outcome && 'result' in this.#outcome) return this.#outcome.result.pendingApproval
    const [first, ...rest] = this.pending
    return first && { calls: [first, ...rest], snapshot: this.snapshot() }
  }

  #release(): void {
    if (!this.#isHeld || !this.#outcome || !isWaiting(this.#outcome)) return
    this.#isHeld = false
    this.#stop()
  }

  /** No reader is left. */
  #leave(): void {
    const reason = 'its last reader has left'
    this.#actor.send({ type: 'abort', reason })
    if (this.#outcome) return
    // A user's chart that does not handle the abort.
    const partial = this.#partial()
    this.#settle({ error: () => abortedError(reason, partial) })
    this.#stop()
  }

  /** XState lets only roots be stopped; a child ends by itself once it is aborted. */
  #stop(): void {
    if (this.#setup.parent) this.#actor.send({ type: 'abort' })
    else this.#actor.stop()
  }

  readonly #done = () => {
    if (this.#isOver) return
    const snapshot = this.#actor.getSnapshot()
    const outcome = outcomeOf(snapshot.output)
    if (outcome) this.#settle(outcome)
    else if (snapshot.status === 'stopped') {
      const partial = this.#partial()
      this.#settle({ error: () => abortedError('its actor was stopped', partial) })
    } else this.#crashed(new TypeError('it ended without an AgentOutput'))
  }

  readonly #crashed = (cause: unknown) => {
    // The input, such as a stored snapshot, could not be used: nothing broke.
    if (cause instanceof ConfigurationError) {
      this.#settle({ error: () => cause })
      return
    }
    const { id = 'unknown' }: { id?: string } = this.#actor.logic
    const orchestrator = this.#setup.name ?? id
    const state = JSON.stringify(this.#actor.getSnapshot().value) ?? 'its only state'
    const problem = `The machine "${orchestrator}" broke in ${state}: ${describeThrown(cause)}`
    const partial = this.#partial()
    this.#settle({ error: () => new OrchestrationError(problem, { cause, orchestrator, state, partial }) })
  }

  /** There is one outcome, until a waiting run continues. */
  #settle(outcome: RunOutcome): void {
    this.#forgetSignal()
    if (this.#outcome) return
    this.#outcome = outcome
    this.#leg.settle(outcome)
    for (const { reader } of this.#readings) showOutcome(reader, outcome)
  }

  /** What the run has so far. An orchestrator's own data may not yet include what its runs have emitted. */
  #partial(): SendResult {
    const snapshot: { context?: unknown } = this.#actor.getSnapshot()
    const { context } = snapshot
    const known = isRunResult(context) ? resultOf(context) : nothingReached
    const added = messagesIn(snapshot)
    const messages = added.length < this.#messages.length ? [...this.#messages] : added
    return { ...known, messages, output: textOfRun(messages), answer: lastText(messages) }
  }
}

/** A run with any output. */
export type AnyRun = Pick<Run<unknown, unknown>, keyof Run<unknown, unknown>>

const showOutcome = (reader: ChunkReader, outcome: RunOutcome): void => {
  if ('error' in outcome) reader.fail(outcome.error())
  else if (!isWaiting(outcome)) reader.complete(outcome.result)
  else {
    const { answer: _, ...chunk } = outcome.result
    reader.wait({ ...chunk, output: '', messages: [] })
  }
}
