import type { Actor, Snapshot } from 'xstate'
import type { AgentMachine } from '../../../machines/agent/agentSnapshot.ts'
import type { AgentEmitted, AgentOutput } from '../../../machines/agent/events.ts'
import type { CheckOutcome, RunHost } from '../../../machines/logic/runEnvironment.ts'
import { agentInternals } from '../../agent/AgentInternals.ts'
import type { AnyAgent, HostedFrom } from '../../agent/options.ts'
import { brokenError, outcomeOf, partialResult } from '../../agent/runOutcome.ts'
import { ConfigurationError, errorDataOf } from '../../messages/errors.ts'
import type { JsonObject } from '../../messages/json.ts'
import type { ToolResultPart } from '../../messages/messages.ts'
import type { ModelSink } from '../../model/chatModel.ts'
import { durableChunk, endChunk, waitChunk } from '../chunks.ts'
import type { NumberedCommand, ReplayEngine, SegmentEnd, SegmentOptions, SegmentStart } from './engine.ts'
import { type EarlierEnds, FollowedSteps } from './FollowedSteps.ts'
import { ReplayStream } from './ReplayStream.ts'
import {
  askModel,
  cutResult,
  endTurn,
  makeCheck,
  recordedCall,
  replayIds,
  showTurn,
  type Turn,
  type TurnRecord,
} from './replaySteps.ts'
import { endAtRest, type Rest, restOf } from './rests.ts'

/**
 * The beginning of a segment as it is recorded. `isOrdered`: the order of the steps is recorded, too. Records of older releases
 * have neither that nor a time.
 */
type BegunSegment = SegmentStart & { commands: NumberedCommand[]; at?: number; isOrdered?: boolean }

export type ReplayOptions = SegmentOptions & {
  earlier: EarlierEnds
  /** The number of ends that this segment has come to, this one included. */
  attempt: number
  isTextInDoubt: boolean
}

/**
 * The actor of a run on an engine that replays. Its effects on the world are steps; between them it runs as always, and as
 * it did before, because it is given the same answers and results.
 */
export class ReplayedRun {
  /**
   * The end of the segment; undefined if commands came before it was certain: then the chart runs again, and gets them.
   * Rejects with what the engine threw: the engine knows what happens to the segment then.
   */
  readonly end: Promise<SegmentEnd | undefined>
  readonly #agent: AnyAgent
  readonly #engine: ReplayEngine
  readonly #options: ReplayOptions
  readonly #context: unknown
  readonly #answer: JsonObject | undefined
  readonly #stream: ReplayStream
  readonly #host: RunHost
  readonly #isRestored: boolean
  readonly #hasTasks: boolean
  readonly #steps: FollowedSteps
  #actor: Actor<AgentMachine>
  /** Steps of calls that are in doubt: the chart is restored once nothing else is under way. */
  #inDoubt = 0
  #isLooking = false
  /** Complete, unless a command has come. */
  #isEnding = false
  #isOver = false
  #resolve: (end: Promise<SegmentEnd> | undefined) => void = () => {}
  #reject: (error: unknown) => void = () => {}

  constructor(
    agent: AnyAgent,
    engine: ReplayEngine,
    { from, seen, context, answer, commands, at = Date.now(), isOrdered = false }: BegunSegment,
    options: ReplayOptions,
  ) {
    this.end = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.#agent = agent
    this.#engine = engine
    this.#options = options
    this.#context = options.context ? options.context(context) : context
    this.#answer = answer
    this.#isRestored = 'snapshot' in from
    this.#hasTasks = isOrdered
    this.#stream = new ReplayStream(engine.write, options.isTextInDoubt, this.#onBroken)
    this.#steps = new FollowedSteps(engine, { seen, at, isOrdered }, options.earlier, {
      send: (command) => {
        if (this.#actor.getSnapshot().status === 'active') this.#actor.send(command)
      },
      onChange: () => this.#look(),
      onStep: () => this.#report(),
      isAtRest: () => this.#isEnding || restOf(this.#actor.getSnapshot(), this.#steps.now) !== undefined,
      onBroken: this.#onBroken,
    })
    this.#host = {
      ...(options.store !== undefined && { store: options.store }),
      newId: replayIds(from),
      turn: (name, ask, sink) => this.#turn(name, ask, sink),
      call: (key, execute) => this.#call(key, execute),
      check: (name, run) => this.#check(name, run),
      now: () => this.#steps.now,
      timer: (at, run, fire) => this.#steps.timer(at, run, fire),
      ...(isOrdered && {
        ofTask: () => ({ ...this.#host, turn: (name, ask, sink) => this.#turn(name, ask, sink, true) }),
      }),
    }
    options.signal?.addEventListener('abort', this.#stop)
    this.#actor = this.#begin(from)
    this.#steps.deliver(commands)
    this.#look()
  }

  get isTextInDoubt(): boolean {
    return this.#stream.isTextInDoubt
  }

  #begin(from: HostedFrom): Actor<AgentMachine> {
    const values = { context: this.#context, ...(this.#answer && { schema: { jsonSchema: this.#answer } }) }
    const actor = agentInternals(this.#agent).actor(from, values, { host: this.#host })
    // It is asked for while it starts.
    this.#actor = actor
    actor.on('*', (emitted: AgentEmitted) => {
      if (emitted.type !== 'chunk' || this.#isOver) return
      this.#stream.show(durableChunk(emitted))
      this.#look()
    })
    actor.subscribe({
      next: () => this.#look(),
      complete: () => this.#onDone(),
      error: (thrown) => this.#onCrash(thrown),
    })
    actor.start()
    return actor
  }

  #turn(name: string, request: (sink: ModelSink) => unknown, sink: ModelSink, isOfTask = false): () => void {
    let isClosed = false
    let onClose = () => {}
    const turn: Turn = {
      ask: request,
      sink,
      // Readers have the text of the request after one that was cut off before it began.
      isShown: () => !isOfTask && !isClosed,
      onClose: (close) => {
        onClose = close
        if (isClosed) close()
      },
    }
    let isLive = false
    const ask = () => {
      isLive = true
      return askModel(turn, this.#engine, this.#stream, this.#steps.seen)
    }
    const own = this.#steps.unused(name)
    // The chart asks before it shows what came before: that must have its place first.
    const record = Promise.resolve().then(() => {
      this.#stream.flush()
      return this.#engine.step(own, ask)
    })
    const take = (found: TurnRecord, commands: readonly NumberedCommand[]) => {
      if (!isLive && !isClosed) showTurn(found, turn, this.#stream)
      this.#steps.deliver(commands)
      this.#steps.now = found.at ?? this.#steps.now
      if (!isClosed) endTurn({ ...found, commands: [...commands] }, turn)
      if (isLive) this.#steps.report()
    }
    this.#steps.follow(own, record, take, isOfTask ? 'task' : 'shown')
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
      const own = this.#steps.unused(key)
      this.#stream.flush()
      const record = recordedCall(own, live, this.#engine, () => this.#steps.seen)
      this.#steps.follow(own, record, (found, commands) => {
        this.#steps.deliver(commands)
        if (found.type === 'inDoubt') {
          this.#inDoubt += 1
          this.#steps.open += 1
          return
        }
        this.#steps.now = found.at ?? this.#steps.now
        resolve(found.type === 'cut' ? cutResult : found.result)
        if (isLive) this.#steps.report()
      })
    })
  }

  #check(name: string, run: () => Promise<CheckOutcome>): Promise<CheckOutcome> {
    return new Promise((resolve) => {
      const own = this.#steps.unused(name)
      this.#stream.flush()
      const record = this.#engine.step(own, () => makeCheck(run, this.#engine, this.#steps.seen))
      this.#steps.follow(own, record, ({ outcome }, commands) => {
        this.#steps.deliver(commands)
        // One that was cut short by an abort has none: the policy is stopped with its run.
        if (outcome) resolve(outcome)
      })
    })
  }

  /** Ends the segment if the run waits, and nothing is under way. Deferred, so that the last events have reached the chart. */
  #look(): void {
    if (this.#isLooking) return
    this.#isLooking = true
    setImmediate(() => {
      this.#isLooking = false
      if (this.#isOver || this.#isEnding) return
      this.#stream.flush()
      if (this.#steps.open > this.#inDoubt) return
      if (this.#inDoubt > 0) this.#recover()
      else this.#waitIfAtRest()
    })
  }

  /** Ends the segment, unless something is still going to happen in it. */
  #waitIfAtRest(): void {
    const rest = restOf(this.#actor.getSnapshot(), this.#steps.now)
    if (rest) this.#wait(rest)
  }

  /** Restores the chart: then the tool of a call in doubt says what happens to it. */
  #recover(): void {
    this.#steps.open -= this.#inDoubt
    this.#inDoubt = 0
    const before = this.#actor
    try {
      const snapshot = stored(before)
      before.stop()
      this.#begin({ snapshot })
    } catch (thrown) {
      this.#onCrash(thrown)
    }
  }

  /** Reports what the run has come to. Its background agents are part of what would be stored of it. */
  #report(): void {
    const { onStep } = this.#options
    const snapshot = this.#hasTasks ? this.#actor.getPersistedSnapshot() : this.#actor.getSnapshot()
    onStep?.(snapshot, this.#steps.seen)
  }

  #wait(rest: Rest): void {
    try {
      const [snapshot, seen] = [stored(this.#actor), this.#steps.seen]
      if (this.#hasTasks) this.#report()
      if ('calls' in rest) this.#stream.show(waitChunk(rest.calls))
      this.#finish({ ...endAtRest(this.#actor.getSnapshot(), rest), snapshot, seen })
      this.#actor.stop()
    } catch (thrown) {
      // Data that cannot be stored, such as that of a user's orchestrator.
      this.#onCrash(thrown)
    }
  }

  #onDone(): void {
    const { output, status } = this.#actor.getSnapshot()
    if (this.#isOver || status === 'stopped') return
    if (this.#hasTasks) this.#report()
    if (output && outcomeOf(output)) this.#complete(output)
    else this.#onCrash(new TypeError('it ended without an AgentOutput'))
  }

  /** Ends the segment, unless a command was acknowledged that a complete run would never see. */
  #complete(output: AgentOutput): void {
    const end: SegmentEnd = { status: output.status, output, seen: this.#steps.seen }
    if (output.status !== 'complete') return void this.#finish(end)
    const { attempt } = this.#options
    this.#isEnding = true
    this.#steps.stop()
    const name = attempt === 1 ? 'end' : `end (${attempt})`
    const unseen = this.#engine.step(name, () => this.#engine.commands(this.#steps.seen, true))
    const take = (commands: NumberedCommand[]) => {
      if (this.#isOver) return
      if (commands.length === 0) return this.#finish(end)
      this.#steps.keep(commands)
      this.#stop()
      this.#resolve(undefined)
    }
    unseen.then(take).catch(this.#onBroken)
  }

  #onCrash(cause: unknown): void {
    if (this.#isOver) return
    const isRefused = cause instanceof ConfigurationError
    const name = agentInternals(this.#agent).name
    const error = errorDataOf(brokenError(this.#actor, cause, { name }))
    // Nothing broke, and other code may continue: this one cannot.
    if (isRefused && this.#isRestored) this.#finish({ status: 'abandoned', error, seen: this.#steps.seen })
    else {
      this.#stream.show(endChunk('error'))
      const output: AgentOutput = {
        status: 'failed',
        error,
        ...partialResult(this.#actor.getSnapshot()),
        finishReason: 'error',
      }
      this.#finish({ status: 'failed', output, seen: this.#steps.seen })
    }
    this.#actor.stop()
  }

  #finish(end: SegmentEnd): void {
    this.#isOver = true
    this.#steps.stop()
    this.#options.signal?.removeEventListener('abort', this.#stop)
    this.#resolve(this.#stream.settled().then(() => end))
  }

  /** Stops when the engine has thrown: the run belongs to another process now, or cannot be recorded. */
  readonly #onBroken = (error: unknown): void => {
    if (this.#isOver) return
    this.#stop()
    this.#reject(error)
  }

  readonly #stop = (): void => {
    this.#isOver = true
    this.#steps.stop()
    this.#options.signal?.removeEventListener('abort', this.#stop)
    this.#actor.stop()
  }
}

/** The snapshot of an actor as JSON: data that cannot be stored throws here, and not in the engine. */
const stored = (actor: Actor<AgentMachine>): Snapshot<unknown> =>
  JSON.parse(JSON.stringify(actor.getPersistedSnapshot()))
