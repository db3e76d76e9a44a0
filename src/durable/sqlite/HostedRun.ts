import type { Actor } from 'xstate'
import type { AgentMachine } from '../../../machines/agent/agentSnapshot.ts'
import type { AgentCommand, AgentEmitted } from '../../../machines/agent/events.ts'
import { openIn } from '../../../machines/tools/pendingCalls.ts'
import { agentInternals } from '../../agent/AgentInternals.ts'
import type { AnyAgent, HostedFrom } from '../../agent/options.ts'
import { brokenError } from '../../agent/runOutcome.ts'
import { type ErrorData, errorDataOf, OrchestrationError } from '../../messages/errors.ts'
import type { JsonObject } from '../../messages/json.ts'
import type { ToolResultPart } from '../../messages/messages.ts'
import type { PendingCall } from '../../messages/result.ts'
import { durableChunk, endChunk, waitChunk } from '../chunks.ts'
import { withoutDecisions } from '../commands.ts'
import type { DurableChunk, RunStatus } from '../runs.ts'
import { hasRunningTools, isAtEnd, messagesOf } from '../snapshots.ts'
import type { PlacedChunk } from './ChunkLog.ts'
import { checkpointOf } from './checkpoint.ts'
import { type Results, type RunPlace, RunWriter, UnseenCommand } from './RunWriter.ts'
import { runHost } from './runHost.ts'
import type { Checkpoint } from './runRow.ts'

/** The parts of a run in this process. */
export type HostedSetup = RunPlace & {
  agent: AnyAgent
  from: HostedFrom
  /** The `context` of the tools. */
  context: unknown
  /** The JSON Schema of the answer, if it must fit one. */
  answer: JsonObject | undefined
  /** The id of the chat that it is a turn of. */
  conversation: string | undefined
  /** Messages that its chart has not shown so far. */
  hidden: number
  /** Results of calls that this process has, by idempotency key: the store could not be written when they came. */
  unstored?: Results | undefined
  /** Time in which no process had it. */
  stoppedMs: number
  /** Gives the run the commands that other processes have enqueued for it. */
  takeCommands(run: HostedRun): void
  /** Called when a chunk can be read, or the status of the run has changed. */
  onChange(run: HostedRun, isStatus: boolean): void
  /** Called when the run stopped here: it is over, it waits, it was stopped, or the store failed. */
  onStop(run: HostedRun): void
}

/** Time that text may be shown before it is stored. */
const flushMs = 20
/** Time after which it is tried again if the store cannot be written. */
const retryMs = 500

/**
 * A run in this process. Each of its steps is stored as its first effect; what it shows is stored with the next step,
 * or a moment later. If the store fails, the run stops at its last stored step.
 */
export class HostedRun {
  readonly id: string
  readonly #setup: HostedSetup
  readonly #actor: Actor<AgentMachine>
  readonly #writer: RunWriter
  /** Results of calls that may not be stored yet. */
  readonly #results: Map<string, ToolResultPart>
  /** Commands that wait for the start of the run, and what deletes each with the step that it leads to. */
  readonly #enqueued = new Map<object, () => void>()
  /** Messages that the chart did not show. */
  #hidden: number
  #isStarted = false
  #hasProgressed = false
  #isStopping = false
  #isOver = false
  #isSettling = false
  /** Says whether tools were running after the last step. */
  #hadTools = false
  #timer: NodeJS.Timeout | undefined
  #failure: Error | undefined

  constructor(setup: HostedSetup) {
    const { id, agent, from, context, conversation, answer, hidden, stoppedMs } = setup
    this.id = id
    this.#setup = setup
    this.#writer = new RunWriter(setup)
    this.#results = new Map(setup.unstored)
    const host = runHost({
      store: setup.store.file.path,
      stoppedMs,
      results: this.#results,
      onEvent: (event) => this.#enqueued.get(event)?.(),
      writeAhead: () => this.#writeAhead(),
      isStopping: () => this.#isStopping,
      hasStopped: () => this.#hasStopped,
      hasTools: () => this.#hasTools,
      isWritable: () => this.#writer.checkWritable(),
      whenWritable: () => this.#writer.whenWritable(() => this.#hasStopped),
      takeCommands: () => setup.takeCommands(this),
    })
    const values = {
      context,
      ...(answer && { schema: { jsonSchema: answer } }),
      ...(conversation !== undefined && { conversation }),
    }
    this.#actor = agentInternals(agent).actor(from, values, { host })
    this.#hidden = hidden
  }

  /** The reason why its agent refuses to continue from what was stored. */
  get refusal(): ErrorData | undefined {
    const { status, error } = this.#actor.getSnapshot()
    return status === 'error' ? errorDataOf(error, 'ConfigurationError') : undefined
  }

  /** The results of its calls that could not be stored. */
  get unstored(): Results {
    return this.#results
  }

  /** The number of its row, once it is stored. */
  get number(): number | undefined {
    return this.#writer.number
  }

  /** The reason why it stopped before its end: the store failed. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /** The reason why it waits for the store, with the result of a tool. */
  get obstacle(): Error | undefined {
    return this.#writer.obstacle
  }

  /** Says whether it has stored a step that it did not only repeat. */
  get hasProgressed(): boolean {
    return this.#hasProgressed
  }

  /** The time at which it continues by itself, while it waits. */
  get due(): number | undefined {
    return this.#writer.due
  }

  get pending(): PendingCall[] {
    return openIn(this.#actor.getSnapshot())
  }

  /** Finds the chunk after this one, if it is among the last ones. */
  chunkAfter(seq: number): PlacedChunk | undefined {
    return this.#writer.log.after(seq)
  }

  /** Shows readers what its chart does not. */
  show(chunks: readonly DurableChunk[]): void {
    for (const chunk of chunks) this.#writer.log.push(chunk)
  }

  /** Starts or continues the run. It is stored when this returns. */
  start(): void {
    this.#actor.on('chunk', this.#onChunk)
    this.#actor.subscribe({ error: this.#onBroken, complete: this.#onComplete })
    const { commands } = this.#setup.store
    this.#attempt(() => {
      // Its start may lead to its end, and then it takes nothing more: messages and an abort come first.
      for (const { n, command } of withoutDecisions(commands.of(this.number ?? 0))) {
        if (command.type === 'task.command') continue
        this.#enqueued.set(command, () => this.#writer.inNextWrite(() => commands.delete(n)))
        this.#actor.send(command)
      }
    })
    if (!this.#failure) this.#actor.start()
    this.#isStarted = true
    if (this.#writer.hasDue) this.flush()
    if (this.#failure) throw this.#failure
  }

  /** Gives the run a command, and makes a change with its first write. Both are stored when this returns. */
  send(command: AgentCommand, inSameWrite: () => void): void {
    this.#writer.inNextWrite(inSameWrite)
    this.#actor.send(command)
    // Any machine may have taken it, also a user's; and a command that changed nothing is done, too.
    if (!this.#isOver) this.#writeAhead()
    if (this.#writer.hasDue) this.flush()
    if (this.#failure) throw this.#failure
  }

  /** Stores what was shown. */
  flush(): void {
    if (this.#isOver || this.#writer.number === undefined) return
    this.#attempt(() => this.#writer.storeShown(this.#hasTools))
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#setup.onChange(this, false)
  }

  /** Lets it begin nothing more. */
  drain(): void {
    this.#isStopping = true
  }

  /** Stops a run that is to begin nothing more, once none of its tools is running. */
  stopIfDrained(): void {
    if (this.#isStopping && !this.#isOver && !this.#hasTools) this.release()
  }

  /** Stops in good order: what was shown is stored, and the restart that follows does not count against the run. */
  release(): void {
    if (!this.#isOver) this.#attempt(() => this.#writer.release())
    this.stop()
  }

  /** Stops without a change of what is stored. */
  stop(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#actor.stop()
    this.#setup.onStop(this)
  }

  /** Stores what was shown, or tries again later: a run that stopped would leave the calls that are running in doubt. */
  #flushSoon(): void {
    const obstacle = this.#hasTools ? this.#setup.store.file.obstacle() : undefined
    if (obstacle) this.#flushIn(retryMs)
    else this.flush()
  }

  #flushIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#flushSoon(), ms).unref()
  }

  get #hasStopped(): boolean {
    return this.#isOver || this.#failure !== undefined
  }

  get #hasTools(): boolean {
    return hasRunningTools(this.#actor.getSnapshot())
  }

  /** Stores a step. It is called as the first effect of the step, so nothing takes effect that is not stored. */
  #writeAhead(): void {
    if (this.#failure) throw this.#failure
    if (this.#isOver) throw new OrchestrationError(`The run "${this.id}" is not running in this process.`)
    const checkpoint = this.#checkpoint()
    if (!this.#writer.isStored(checkpoint)) {
      // A restored run that ends at once would do so again.
      const isEnd = this.#isStarted && isAtEnd(this.#actor.getSnapshot())
      this.#attempt(() => this.#writer.storeStep(checkpoint, { isEnd, hadTools: this.#hadTools }))
      if (this.#failure) throw this.#failure
      this.#hadTools = this.#hasTools
      if (!this.#hadTools) this.#results.clear()
      clearTimeout(this.#timer)
      this.#timer = undefined
      this.#hasProgressed ||= this.#isStarted
      this.#setup.onChange(this, true)
    }
    this.#settleSoon()
  }

  #checkpoint(): Checkpoint {
    const { items, recoveries } = this.#setup
    return checkpointOf(this.id, this.#actor, items, {
      // A restored run does the same at once in every incarnation: that is not progress.
      recoveries: this.#isStarted ? 0 : recoveries,
      hidden: this.#hidden,
    })
  }

  /** Writes. A failure of the store ends the run in this process: nothing more of it may take effect. */
  #attempt(write: () => void): void {
    if (this.#failure) return
    try {
      write()
    } catch (thrown) {
      this.#failure = thrown instanceof Error ? thrown : new OrchestrationError(String(thrown))
      queueMicrotask(() => {
        if (thrown instanceof UnseenCommand) this.#storeShown()
        this.stop()
      })
    }
  }

  /** Stores what was shown with a step that does not count: readers in this process have seen it, and read on from there. */
  #storeShown(): void {
    this.#writer.dropDue()
    try {
      this.#writer.storeShown(false)
    } catch {
      // The next write of the run fails as well, and reports it.
    }
  }

  readonly #onChunk = (emitted: Extract<AgentEmitted, { type: 'chunk' }>): void => {
    if (this.#hasStopped) return
    const { log } = this.#writer
    log.push(durableChunk(emitted))
    if (log.mustStore) this.#settleSoon()
    else {
      this.#setup.onChange(this, false)
      if (!this.#timer) this.#flushIn(flushMs)
    }
  }

  /** Stores what a step showed once the step is over, and releases a run that waits or is to be stopped. */
  #settleSoon(): void {
    if (this.#isSettling) return
    this.#isSettling = true
    queueMicrotask(() => {
      this.#isSettling = false
      if (this.#hasStopped) return
      const { log, status } = this.#writer
      // By now everything has been emitted, also what an inner run emits through its parents.
      this.#hidden = Math.max(0, messagesOf(this.#actor.getSnapshot()).length - log.delivered)
      if (status === 'waiting') this.#wait()
      else if (!log.isStored) this.#flushSoon()
      this.stopIfDrained()
    })
  }

  #wait(): void {
    const { isUnsettled, due = Number.POSITIVE_INFINITY } = this.#writer
    // Readers already know, unless something was decided since. Those of a run that only sleeps read on.
    if (isUnsettled) this.#settle('waiting', this.pending.length > 0 ? waitChunk(this.pending) : undefined)
    // Its own timer fires a moment later.
    if (due > Date.now()) this.stop()
  }

  /** Stores that the run waits or is over, and that its readers know. */
  #settle(status: RunStatus, chunk?: DurableChunk): void {
    if (chunk) this.#writer.log.push(chunk)
    this.#attempt(() => this.#writer.storeStatus(status))
    this.#setup.onChange(this, true)
  }

  readonly #onComplete = (): void => {
    if (this.#hasStopped) return
    this.#settle(this.#writer.status)
    this.stop()
  }

  readonly #onBroken = (cause: unknown): void => {
    if (this.#hasStopped) return
    const error = brokenError(this.#actor, cause)
    const { number } = this.#writer
    // A run that breaks before it is stored was never started.
    if (number === undefined) this.#failure = error
    else {
      this.#writer.inNextWrite(() => this.#setup.store.runs.fail(number, errorDataOf(error), Date.now()))
      this.#settle('failed', endChunk('error'))
    }
    this.stop()
  }
}
