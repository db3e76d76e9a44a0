import type { Actor, Snapshot } from 'xstate'
import { isRunResult } from '../../machines/agent/agentOutput.ts'
import type { AgentMachine } from '../../machines/agent/agentSnapshot.ts'
import type { AgentCommand, AgentEmitted, MessageTiming } from '../../machines/agent/events.ts'
import { copyOf } from '../../machines/agent/streamingState.ts'
import type { RequestPrefix } from '../../machines/model/requestPrefix.ts'
import { openIn, pendingIn, questionsAbout, unattendedIn } from '../../machines/tools/pendingCalls.ts'
import { describeThrown, OrchestrationError } from '../messages/errors.ts'
import type { JsonObject } from '../messages/json.ts'
import type { ChatMessage } from '../messages/messages.ts'
import {
  type ChatResult,
  type PendingApproval,
  type PendingCall,
  type Reached,
  type SendResult,
  waitReason,
} from '../messages/result.ts'
import { systemClock } from '../model/clock.ts'
import type { CallDecision } from '../tools/approval.ts'
import { onAbort } from '../transport/onAbort.ts'
import type { ChunkStream } from './ChunkStream.ts'
import { commandsFor } from './commands.ts'
import type { ChunkReader } from './partialValues.ts'
import { asksForDecision, RunListeners } from './RunListeners.ts'
import {
  abortedError,
  brokenError,
  isWaiting,
  neverStarted,
  nothingReached,
  outcomeOf,
  partialResult,
  type RunOutcome,
  reasonOf,
} from './runOutcome.ts'
import { createRunActor, type RunSetup } from './runSetup.ts'

type Reading<C> = { reader: ChunkReader; stream: ChunkStream<ChatResult<C>> }

/** The way to the next wait, or to the end. */
type Segment = { promise: Promise<RunOutcome>; settle: (outcome: RunOutcome) => void }

const newSegment = (): Segment => {
  let settle: Segment['settle'] = () => {}
  const promise = new Promise<RunOutcome>((resolve) => {
    settle = resolve
  })
  return { promise, settle }
}

/**
 * The course of one run behind its handle, from the start over its waits to its only outcome. `Agent` and `Chat` begin
 * it, read it and let go of it; users have a `Run`.
 */
export class RunInternals<T, C> {
  readonly id: string
  readonly #setup: RunSetup<T, C>
  readonly #actor: Actor<AgentMachine>
  readonly #messages: ChatMessage[] = []
  readonly #chunks: ChatResult[] = []
  readonly #readings = new Set<Reading<C>>()
  readonly #listeners: RunListeners
  #segment = newSegment()
  #outcome: RunOutcome | undefined
  #hasBegun = false
  /** Lets it continue after a wait. */
  #isHeld: boolean
  #forgetSignal = () => {}

  constructor(setup: RunSetup<T, C>) {
    this.id = setup.id
    this.#setup = setup
    this.#isHeld = setup.isHeld
    this.#actor = createRunActor(setup)
    this.#listeners = new RunListeners(this.#actor)
  }

  begin(): void {
    if (this.#outcome || this.#hasBegun) return
    const { start, signal } = this.#setup
    if (signal?.aborted) {
      this.#settle({ error: () => neverStarted(signal) })
      return
    }
    this.#hasBegun = true
    this.#followSignal()
    this.#actor.on('*', this.#onEvent)
    this.#actor.subscribe({ error: this.#onCrash, complete: this.#onDone })
    this.#actor.start()
    if ('snapshot' in start && !this.#outcome)
      this.#decideOn(start.decisions === undefined ? {} : start.decisions)
  }

  /** Shows the run to a stream; the function returned leaves it. */
  read(stream: ChunkStream<ChatResult<C>>): () => void {
    const entry = { reader: this.#setup.readerOf(stream), stream }
    for (const chunk of this.#chunks) entry.reader.chunk(chunk)
    this.#readings.add(entry)
    if (this.#outcome) showOutcome(entry.reader, this.#outcome)
    return () => {
      this.#readings.delete(entry)
      if (this.#readings.size === 0 && !this.#outcome) this.#abandon()
    }
  }

  on(type: AgentEmitted['type'] | '*', listener: (event: AgentEmitted) => void): { unsubscribe(): void } {
    const remove = this.#listeners.add(type, listener)
    // A call may already wait; before the start, a listener may decide on it there.
    if (this.#hasBegun) this.#waitIfUnattended()
    const unsubscribe = () => {
      remove()
      // It may have been the one expected to decide.
      this.#waitIfUnattended()
    }
    return { unsubscribe }
  }

  /** The result of this segment: to the next wait, or to the end. */
  async result(): Promise<SendResult<T>> {
    const outcome = await this.#segment.promise
    if ('error' in outcome) throw outcome.error()
    return this.#setup.finish(outcome.result)
  }

  /** Sends a command, after which the run may continue. */
  send(command: AgentCommand): void {
    this.#endWait()
    this.#actor.send(command)
    this.#waitIfUnattended()
  }

  abort(reason: string): void {
    if (this.#isOver) return
    if (this.#hasBegun) this.send({ type: 'abort', reason })
    else this.#settle({ error: () => abortedError(reason, nothingReached) })
  }

  steer(text: string, when: MessageTiming): void {
    if (this.#isOver)
      throw new OrchestrationError(
        'The run is over, or paused, and cannot be steered: send a new prompt, or resume it.',
      )
    this.#actor.send({ type: 'message', text, when })
  }

  get stateValue(): unknown {
    const { value }: { value?: unknown } = this.#actor.getSnapshot()
    return value
  }

  get pending(): PendingCall[] {
    return openIn(this.#actor.getSnapshot())
  }

  /** The pending calls to compare a decision on a call with. */
  questionsAbout(callId: string): readonly PendingCall[] {
    return questionsAbout(this.#actor.getSnapshot(), callId)
  }

  snapshot(): Snapshot<unknown> {
    try {
      return JSON.parse(JSON.stringify(this.#actor.getPersistedSnapshot()))
    } catch (cause) {
      throw new OrchestrationError(`The run cannot be stored: ${describeThrown(cause)}`, { cause })
    }
  }

  /** The result so far. */
  partial(): Reached {
    const result = partialResult(this.#actor.getSnapshot(), this.#messages)
    // A reader may change what it gets: that must not change the run.
    return { ...result, messages: copyOf(result.messages) }
  }

  /** The policy as the run left it, once it has ended. */
  get policy(): JsonObject | undefined {
    return this.#actor.getSnapshot().output?.policy
  }

  /** The last request that was answered, to compare the next one of the conversation with. */
  get prefix(): RequestPrefix | undefined {
    const { context }: { context?: unknown } = this.#actor.getSnapshot()
    return isRunResult(context) ? context.totals.prefix : undefined
  }

  /** The calls that the run waits for at this moment, to be resumed. */
  waitsFor(): PendingApproval | undefined {
    if (this.#outcome && 'result' in this.#outcome) return this.#outcome.result.pendingApproval
    const [first, ...rest] = pendingIn(this.#actor.getSnapshot())
    return first && { calls: [first, ...rest], snapshot: this.snapshot() }
  }

  /** Lets go of a run that waits: it continues from its snapshot, and must not do so twice. */
  release(): void {
    if (!this.#isHeld || !this.#outcome || !isWaiting(this.#outcome)) return
    this.#isHeld = false
    this.#stop()
  }

  /** True once it has ended, and does not only wait. Without a handle, a run that waits has ended, too. */
  get #isOver(): boolean {
    return this.#outcome !== undefined && !(this.#isHeld && isWaiting(this.#outcome))
  }

  /** Applies the decisions that were made while the run was stored. */
  #decideOn(decisions: Readonly<Record<string, CallDecision>>): void {
    try {
      for (const command of commandsFor(decisions, this.pending)) this.#actor.send(command)
      this.#waitIfUnattended()
    } catch (thrown) {
      this.#onCrash(thrown)
      this.#stop()
    }
  }

  #followSignal(): void {
    const { signal } = this.#setup
    this.#forgetSignal()
    if (!signal) return
    this.#forgetSignal = onAbort(signal, () => this.abort(reasonOf(signal)))
    if (signal.aborted) queueMicrotask(() => this.abort(reasonOf(signal)))
  }

  readonly #onEvent = (event: AgentEmitted): void => {
    // An observer of the actor, such as the inspector, may have decided.
    if (this.#outcome) this.#endWait()
    if (event.type === 'chunk') this.#show(event)
    else if (event.type === 'message') this.#messages.push(event.message)
    else if (asksForDecision(event)) this.#waitIfUnattended()
  }

  #show(chunk: ChatResult): void {
    // A run that did not complete ends with an error, not with a last chunk as well.
    const isEnd = chunk.finishReason !== 'unspecified'
    if (this.#outcome || (isEnd && this.#actor.getSnapshot().output?.status !== 'complete')) return
    if (this.#isHeld) this.#chunks.push(chunk)
    for (const { reader } of this.#readings) reader.chunk(chunk)
  }

  /** A look at what the run waits for is due: one for all calls of a turn. */
  #isLooking = false

  /** Pauses the run if no listener decides on what it waits for. Deferred: the calls of a turn are announced one by one. */
  #waitIfUnattended(): void {
    if (this.#isLooking) return
    this.#isLooking = true
    queueMicrotask(() => {
      this.#isLooking = false
      if (!this.#hasBegun) return
      for (const call of unattendedIn(this.#actor.getSnapshot())) this.#listeners.announce(call)
      const calls = this.#outcome ? [] : unattendedIn(this.#actor.getSnapshot())
      const { clock = systemClock } = this.#setup
      // The time of a restored call may be up: the run decides on it a moment later.
      if (calls.some(({ expiresAt }) => expiresAt !== undefined && expiresAt <= clock.now()))
        clock.setTimeout(() => this.#waitIfUnattended(), 0)
      else if (calls.some((call) => !this.#listeners.decideOn(call))) this.#wait()
    })
  }

  #wait(): void {
    try {
      const pendingApproval = this.waitsFor()
      if (!pendingApproval) return
      const finishReason = waitReason(pendingApproval.calls)
      this.#settle({ result: { ...this.partial(), status: 'waiting', finishReason, pendingApproval } })
      // Without a handle it can only continue from its snapshot, and must not do so twice.
      if (!this.#isHeld) this.#stop()
    } catch (thrown) {
      // Data that cannot be stored, such as that of a user's orchestrator.
      this.#onCrash(thrown)
      this.#stop()
    }
  }

  /** Begins another segment, with its own result. */
  #endWait(): void {
    if (!this.#outcome || !isWaiting(this.#outcome)) return
    this.#outcome = undefined
    this.#segment = newSegment()
    this.#followSignal()
    for (const { stream } of this.#readings) stream.reopen()
  }

  /** Ends a run that its last reader has left. */
  #abandon(): void {
    const reason = 'its last reader has left'
    this.#actor.send({ type: 'abort', reason })
    if (this.#outcome) return
    // A user's chart that does not handle the abort.
    const partial = this.partial()
    this.#settle({ error: () => abortedError(reason, partial) })
    this.#stop()
  }

  /** XState lets only roots be stopped; a child ends by itself once it is aborted. */
  #stop(): void {
    if (this.#setup.parent) this.#actor.send({ type: 'abort' })
    else this.#actor.stop()
  }

  readonly #onDone = () => {
    if (this.#isOver) return
    const snapshot = this.#actor.getSnapshot()
    const outcome = outcomeOf(snapshot.output)
    if (outcome) this.#settle(outcome)
    else if (snapshot.status === 'stopped') {
      const partial = this.partial()
      this.#settle({ error: () => abortedError('its actor was stopped', partial) })
    } else this.#onCrash(new TypeError('it ended without an AgentOutput'))
  }

  readonly #onCrash = (cause: unknown) => {
    const { name } = this.#setup
    const partial = this.partial()
    this.#settle({ error: () => brokenError(this.#actor, cause, { name, partial }) })
  }

  /** Sets the outcome. There is only one, until a waiting run continues. */
  #settle(outcome: RunOutcome): void {
    this.#forgetSignal()
    if (this.#outcome) return
    this.#outcome = outcome
    this.#segment.settle(outcome)
    for (const { reader } of this.#readings) showOutcome(reader, outcome)
  }
}

const showOutcome = (reader: ChunkReader, outcome: RunOutcome): void => {
  if ('error' in outcome) reader.fail(outcome.error())
  else if (!isWaiting(outcome)) reader.complete(outcome.result)
  else {
    const { answer: _, ...chunk } = outcome.result
    reader.wait({ ...chunk, output: '', messages: [] })
  }
}
