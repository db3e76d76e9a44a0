import { createHash } from 'node:crypto'
import type { Actor, Snapshot } from 'xstate'
import type { AgentMachine } from '../../../machines/agent/agentSnapshot.ts'
import type { AgentEmitted, AgentOutput } from '../../../machines/agent/events.ts'
import type { RunHost } from '../../../machines/logic/runEnvironment.ts'
import { pendingIn, unattendedIn } from '../../../machines/tools/pendingCalls.ts'
import type { AnyAgent, HostedFrom } from '../../agent/Agent.ts'
import { agentInternals } from '../../agent/AgentInternals.ts'
import { brokenError, outcomeOf, partialResult } from '../../agent/runOutcome.ts'
import { ConfigurationError, errorDataOf } from '../../messages/errors.ts'
import type { JsonObject } from '../../messages/json.ts'
import type { ToolResultPart } from '../../messages/messages.ts'
import { waitReason } from '../../messages/result.ts'
import type { ModelSink } from '../../model/chatModel.ts'
import { durableChunk, endChunk, waitChunk } from '../chunks.ts'
import type { WaitsFor } from '../runs.ts'
import {
  type NumberedCommand,
  type ReplayEngine,
  type SegmentEnd,
  type SegmentOptions,
  type SegmentStart,
  untilStopped,
} from './engine.ts'
import { ReplayStream } from './ReplayStream.ts'
import { askModel, cutResult, endTurn, recordedCall, showTurn, type Turn } from './replaySteps.ts'

/**
 * Runs an agent on an engine that replays, to the end of the run or to its next wait for a person. Commands answer what
 * it waits for, and the next segment continues from its snapshot: meanwhile nothing runs.
 *
 * @example
 * const end = await replaySegment(agent, engine, async () => ({ from: { input: { prompt, id } }, seen: 0 }))
 * if (end.status === 'waiting') await save(end.snapshot, end.result.pendingApproval.calls)
 */
export const replaySegment = async (
  agent: AnyAgent,
  engine: ReplayEngine,
  begin: () => Promise<SegmentStart>,
  options: SegmentOptions = {},
): Promise<SegmentEnd> => {
  let isFirstIncarnation = false
  const journal = untilStopped(engine, options.signal)
  const start = await journal.step('begin', async () => {
    isFirstIncarnation = true
    const { seen, ...rest } = await begin()
    return { ...rest, seen, commands: await journal.commands(seen) }
  })
  return await new ReplayedRun(agent, journal, start, isFirstIncarnation, options).end
}

/**
 * The actor of a run on an engine that replays. Its effects on the world are steps; between them it runs as always, and as
 * it did before, because it is given the same answers and results.
 */
class ReplayedRun {
  /** The end of the segment. Rejects with what the engine threw: the engine knows what happens to the segment then. */
  readonly end: Promise<SegmentEnd>
  readonly #agent: AnyAgent
  readonly #engine: ReplayEngine
  readonly #options: SegmentOptions
  readonly #context: unknown
  readonly #answer: JsonObject | undefined
  readonly #stream: ReplayStream
  readonly #host: RunHost
  readonly #isRestored: boolean
  readonly #names = new Map<string, number>()
  #actor: Actor<AgentMachine>
  #seen: number
  /** Steps under way, those of calls in doubt included. */
  #steps = 0
  /** Steps of calls that are in doubt: the chart is restored once nothing else is under way. */
  #inDoubt = 0
  #isLooking = false
  #isOver = false
  #resolve: (end: SegmentEnd | Promise<SegmentEnd>) => void = () => {}
  #reject: (error: unknown) => void = () => {}

  constructor(
    agent: AnyAgent,
    engine: ReplayEngine,
    { from, seen, context, answer, commands }: SegmentStart & { commands: NumberedCommand[] },
    isFirstIncarnation: boolean,
    options: SegmentOptions,
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
    this.#seen = seen
    this.#isRestored = 'snapshot' in from
    this.#stream = new ReplayStream(engine.write, isFirstIncarnation, this.#onBroken)
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
    const values = { context: this.#context, ...(this.#answer && { schema: { jsonSchema: this.#answer } }) }
    const actor = agentInternals(this.#agent).actor(from, values, { host: this.#host })
    // It is asked for while it starts.
    this.#actor = actor
    actor.on('*', (emitted: AgentEmitted) => {
      if (emitted.type === 'chunk' && !this.#isOver) this.#stream.show(durableChunk(emitted))
    })
    actor.subscribe({
      next: () => this.#look(),
      complete: () => this.#onDone(),
      error: (thrown) => this.#onCrash(thrown),
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

  /** Makes a unique name for each step: an answer that is asked for again is another step. */
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
      .catch(this.#onBroken)
  }

  #deliver(commands: readonly NumberedCommand[]): void {
    for (const { number, command } of commands) {
      if (number <= this.#seen) continue
      this.#seen = number
      if (this.#actor.getSnapshot().status === 'active') this.#actor.send(command)
    }
  }

  /** Ends the segment if the run waits, and nothing is under way. Deferred, so that the last events have reached the chart. */
  #look(): void {
    if (this.#isLooking) return
    this.#isLooking = true
    setImmediate(() => {
      this.#isLooking = false
      if (this.#isOver || this.#steps > this.#inDoubt) return
      if (this.#inDoubt > 0) this.#recover()
      else this.#waitIfUnattended()
    })
  }

  /** Ends the segment, unless `onApproval` is still going to answer. */
  #waitIfUnattended(): void {
    const snapshot = this.#actor.getSnapshot()
    const [first, ...rest] = pendingIn(snapshot)
    if (first && unattendedIn(snapshot).length === 1 + rest.length) this.#wait([first, ...rest])
  }

  /** Restores the chart: then the tool of a call in doubt says what happens to it. */
  #recover(): void {
    this.#steps -= this.#inDoubt
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

  #wait(pending: WaitsFor['calls']): void {
    try {
      const snapshot = stored(this.#actor)
      const reached = partialResult(this.#actor.getSnapshot())
      const pendingApproval = { calls: pending }
      this.#stream.show(waitChunk(pending))
      this.#finish({
        status: 'waiting',
        snapshot,
        result: { ...reached, status: 'waiting', finishReason: waitReason(pending), pendingApproval },
        seen: this.#seen,
      })
      this.#actor.stop()
    } catch (thrown) {
      // Data that cannot be stored, such as that of a user's orchestrator.
      this.#onCrash(thrown)
    }
  }

  #onDone(): void {
    const { output, status } = this.#actor.getSnapshot()
    if (this.#isOver || status === 'stopped') return
    if (output && outcomeOf(output)) this.#finish({ status: output.status, output, seen: this.#seen })
    else this.#onCrash(new TypeError('it ended without an AgentOutput'))
  }

  #onCrash(cause: unknown): void {
    if (this.#isOver) return
    const isRefused = cause instanceof ConfigurationError
    const name = agentInternals(this.#agent).name
    const error = errorDataOf(brokenError(this.#actor, cause, { name }))
    this.#stream.show(endChunk('error'))
    // Nothing broke: this code cannot continue from what is stored.
    if (isRefused && this.#isRestored) this.#finish({ status: 'abandoned', error, seen: this.#seen })
    else {
      const output: AgentOutput = {
        status: 'failed',
        error,
        ...partialResult(this.#actor.getSnapshot()),
        finishReason: 'error',
      }
      this.#finish({ status: 'failed', output, seen: this.#seen })
    }
    this.#actor.stop()
  }

  #finish(end: SegmentEnd): void {
    this.#isOver = true
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
    this.#options.signal?.removeEventListener('abort', this.#stop)
    this.#actor.stop()
  }
}

/** The snapshot of an actor as JSON: data that cannot be stored throws here, and not in the engine. */
const stored = (actor: Actor<AgentMachine>): Snapshot<unknown> =>
  JSON.parse(JSON.stringify(actor.getPersistedSnapshot()))

/**
 * Makes the ids of a segment: the same ones in every incarnation. A segment that continues from a snapshot makes other
 * ids than the segments before it, and each run of a segment, such as that of a sub-agent, counts for itself.
 */
export const replayIds = (from: HostedFrom): ((run: string) => string) => {
  const seed = createHash('sha256').update(JSON.stringify(from)).digest('hex')
  const made = new Map<string, number>()
  return (run) => {
    const nth = (made.get(run) ?? 0) + 1
    made.set(run, nth)
    return uuidOf(`${seed} ${run} ${nth}`)
  }
}

/** Makes a UUID of version 8, which is free for any use, from a text. */
const uuidOf = (text: string): string => {
  const hash = createHash('sha256').update(text).digest('hex')
  const variant = ((Number.parseInt(hash.slice(16, 17), 16) & 0x3) | 0x8).toString(16)
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    variant + hash.slice(17, 20),
    hash.slice(20, 32),
  ].join('-')
}
