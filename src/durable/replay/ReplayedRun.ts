import type { Actor, Snapshot } from 'xstate'
import type { AgentMachine } from '../../../machines/agent/agentSnapshot.ts'
import type { AgentEmitted, AgentOutput } from '../../../machines/agent/events.ts'
import type { RunHost } from '../../../machines/logic/runHost.ts'
import { pendingIn, unattendedIn } from '../../../machines/tools/pendingCalls.ts'
import type { AnyAgent, HostedFrom } from '../../agent/Agent.ts'
import { agentInternals } from '../../agent/AgentInternals.ts'
import { brokenError, outcomeOf, partialResult } from '../../agent/runOutcome.ts'
import { ConfigurationError, errorDataOf } from '../../messages/errors.ts'
import type { ToolResultPart } from '../../messages/messages.ts'
import { waitReason } from '../../messages/result.ts'
import type { ModelSink } from '../../model/chatModel.ts'
import { endChunk, waitChunk } from '../runChunks.ts'
import type { WaitsFor } from '../runs.ts'
import { durableChunk } from './durableChunk.ts'
import { ReplayStream } from './ReplayStream.ts'
import type { LegEnd, LegStart, NumberedCommand, ReplayEngine } from './replay.ts'
import { cutResult, recordedCall } from './replayCall.ts'
import { replayIds } from './replayIds.ts'
import type { LegOptions } from './replayLeg.ts'
import { askModel, endTurn, showTurn, type Turn } from './replayTurn.ts'

/**
 * The actor of a run on an engine that replays. What it does to the world are steps; between them it runs as always, and as
 * it did before, because it is given the same answers and results.
 */
export class ReplayedRun {
  /** The end of the leg. Rejects with what the engine threw: the engine knows what happens to the leg then. */
  readonly end: Promise<LegEnd>
  readonly #agent: AnyAgent
  readonly #engine: ReplayEngine
  readonly #options: LegOptions
  readonly #context: unknown
  readonly #stream: ReplayStream
  readonly #host: RunHost
  readonly #isRestored: boolean
  readonly #names = new Map<string, number>()
  #actor: Actor<AgentMachine>
  #seen: number
  /** Steps under way. */
  #steps = 0
  /** Those that wait for a decision on a call in doubt. */
  #inDoubt = 0
  #isLooking = false
  #isOver = false
  #resolve: (end: LegEnd | Promise<LegEnd>) => void = () => {}
  #reject: (error: unknown) => void = () => {}

  constructor(
    agent: AnyAgent,
    engine: ReplayEngine,
    { from, seen, context, commands }: LegStart & { commands: NumberedCommand[] },
    isFirstLife: boolean,
    options: LegOptions,
  ) {
    this.end = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.#agent = agent
    this.#engine = engine
    this.#options = options
    this.#context = options.context ? options.context(context) : context
    this.#seen = seen
    this.#isRestored = 'snapshot' in from
    this.#stream = new ReplayStream(engine.write, isFirstLife, this.#broken)
    this.#host = {
      newId: replayIds(from),
      turn: (name, ask, sink) => this.#turn(name, ask, sink),
      call: (key, execute) => this.#call(key, execute),
    }
    options.signal?.addEventListener('abort', this.#stop)
    this.#actor = this.#begin(from)
    this.#deliver(commands)
    this.#look()
  }

  #begin(from: HostedFrom): Actor<AgentMachine> {
    const actor = agentInternals(this.#agent).actor(from, { context: this.#context }, { host: this.#host })
    // It is asked for while it starts.
    this.#actor = actor
    actor.on('*', (emitted: AgentEmitted) => {
      if (emitted.type === 'chunk' && !this.#isOver) this.#stream.show(durableChunk(emitted))
    })
    actor.subscribe({
      next: () => this.#look(),
      complete: () => this.#done(),
      error: (thrown) => this.#crashed(thrown),
    })
    actor.start()
    return actor
  }

  #turn(name: string, request: (sink: ModelSink) => unknown, sink: ModelSink): () => void {
    let isClosed = false
    let onClose = () => {}
    const turn: Turn = {
      ask: request,
      sink,
      onClose: (close) => {
        onClose = close
        if (isClosed) close()
      },
    }
    let isLive = false
    const ask = () => {
      isLive = true
      return askModel(turn, this.#engine, this.#stream, this.#seen)
    }
    const own = this.#unused(name)
    // The chart asks before it shows what came before: that must have its place first.
    const record = Promise.resolve().then(() => this.#engine.step(own, ask))
    this.#follow(record, (found) => {
      if (!isLive && !isClosed) showTurn(found, turn, this.#stream)
      this.#deliver(found.commands)
      if (!isClosed) endTurn(found, turn)
      if (isLive) this.#options.onStep?.(this.#actor.getSnapshot())
    })
    return () => {
      isClosed = true
      onClose()
    }
  }

  #call(key: string, execute: () => Promise<ToolResultPart>): Promise<ToolResultPart> {
    return new Promise((resolve) => {
      let isLive = false
      const live = () => {
        isLive = true
        return execute()
      }
      const record = recordedCall(this.#unused(key), live, this.#engine, () => this.#seen)
      this.#follow(record, (found) => {
        if (found.type === 'inDoubt') {
          this.#inDoubt += 1
          this.#steps += 1
          return
        }
        this.#deliver(found.commands)
        resolve(found.type === 'cut' ? cutResult : found.result)
        if (isLive) this.#options.onStep?.(this.#actor.getSnapshot())
      })
    })
  }

  /** A unique name for each step: an answer that is asked for again is another step. */
  #unused(name: string): string {
    const nth = (this.#names.get(name) ?? 0) + 1
    this.#names.set(name, nth)
    return nth === 1 ? name : `${name} (${nth})`
  }

  #follow<T>(record: Promise<T>, take: (found: T) => void): void {
    this.#steps += 1
    record
      .then((found) => {
        if (!this.#isOver) take(found)
        this.#steps -= 1
        this.#look()
      })
      .catch(this.#broken)
  }

  #deliver(commands: readonly NumberedCommand[]): void {
    for (const { number, command } of commands) {
      if (number <= this.#seen) continue
      this.#seen = number
      if (this.#actor.getSnapshot().status === 'active') this.#actor.send(command)
    }
  }

  /** Ends the leg if the run waits, and nothing is under way. Deferred, so that the last events have reached the chart. */
  #look(): void {
    if (this.#isLooking) return
    this.#isLooking = true
    setImmediate(() => {
      this.#isLooking = false
      if (this.#isOver || this.#steps > this.#inDoubt) return
      if (this.#inDoubt > 0) this.#takeUp()
      else this.#waitIfUnattended()
    })
  }

  /** `onApproval` is still going to answer. */
  #waitIfUnattended(): void {
    const snapshot = this.#actor.getSnapshot()
    const [first, ...rest] = pendingIn(snapshot)
    if (first && unattendedIn(snapshot).length === 1 + rest.length) this.#wait([first, ...rest])
  }

  /** The tool of a call in doubt says what happens to it: the chart handles that, once it is restored. */
  #takeUp(): void {
    this.#steps -= this.#inDoubt
    this.#inDoubt = 0
    const before = this.#actor
    try {
      const snapshot = stored(before)
      before.stop()
      this.#begin({ snapshot })
    } catch (thrown) {
      this.#crashed(thrown)
    }
  }

  #wait(pending: WaitsFor['calls']): void {
    try {
      const snapshot = stored(this.#actor)
      const reached = partialResult(this.#actor.getSnapshot())
      const pendingApproval = { calls: pending }
      this.#stream.show(waitChunk(pending))
      this.#finish({
        status: 'waiting',
        snapshot,
        result: { ...reached, finishReason: waitReason(pending), pendingApproval },
        seen: this.#seen,
      })
      this.#actor.stop()
    } catch (thrown) {
      // Data that cannot be stored, such as that of a user's orchestrator.
      this.#crashed(thrown)
    }
  }

  #done(): void {
    const { output, status } = this.#actor.getSnapshot()
    if (this.#isOver || status === 'stopped') return
    if (output && outcomeOf(output)) this.#finish({ status: output.status, output, seen: this.#seen })
    else this.#crashed(new TypeError('it ended without an AgentOutput'))
  }

  #crashed(cause: unknown): void {
    if (this.#isOver) return
    const snapshot = this.#actor.getSnapshot()
    const isRefused = cause instanceof ConfigurationError
    const error = errorDataOf(brokenError(this.#actor, cause, { name: agentInternals(this.#agent).name }))
    this.#stream.show(endChunk('error'))
    // Nothing that ran broke: this code cannot continue from what is stored.
    if (isRefused && this.#isRestored) this.#finish({ status: 'abandoned', error, seen: this.#seen })
    else {
      const output: AgentOutput = {
        status: 'failed',
        error,
        ...partialResult(snapshot),
        finishReason: 'error',
      }
      this.#finish({ status: 'failed', output, seen: this.#seen })
    }
    this.#actor.stop()
  }

  #finish(end: LegEnd): void {
    this.#isOver = true
    this.#options.signal?.removeEventListener('abort', this.#stop)
    this.#resolve(this.#stream.settled().then(() => end))
  }

  /** The engine has thrown: the run belongs to another process now, or cannot be recorded. */
  readonly #broken = (error: unknown): void => {
    if (this.#isOver) return
    this.#stop()
    this.#reject(error)
  }

  readonly #stop = (): void => {
    this.#isOver = true
    this.#options.signal?.removeEventListener('abort', this.#stop)
    this.#actor.stop()
  }
}

/** As JSON: what cannot be stored throws here, and not in the engine. */
const stored = (actor: Actor<AgentMachine>): Snapshot<unknown> =>
  JSON.parse(JSON.stringify(actor.getPersistedSnapshot()))
