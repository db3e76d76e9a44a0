import type { Actor } from 'xstate'
import type { AgentMachine } from '../../../machines/agent/agentSnapshot.ts'
import type { AgentCommand, AgentEmitted } from '../../../machines/agent/events.ts'
import { openIn } from '../../../machines/tools/pendingCalls.ts'
import type { AnyAgent, HostedFrom } from '../../agent/Agent.ts'
import { agentInternals } from '../../agent/AgentInternals.ts'
import { brokenError } from '../../agent/runOutcome.ts'
import { type ErrorData, errorDataOf, OrchestrationError } from '../../messages/errors.ts'
import type { PendingCall } from '../../messages/result.ts'
import { durableChunk, endChunk, waitChunk } from '../chunks.ts'
import type { DurableChunk, RunStatus } from '../runs.ts'
import { isAtEnd, messagesOf } from '../snapshots.ts'
import { ChunkLog, type PlacedChunk, type StreamTail } from './ChunkLog.ts'
import { checkpointOf } from './checkpoint.ts'
import type { Items } from './Items.ts'
import { LostOwnership } from './Ownership.ts'
import type { Checkpoint } from './RunRows.ts'
import type { Synchronous } from './SqliteFile.ts'
import type { OpenStore } from './sqlite.ts'

/** The parts of a run in this process. */
export type HostedSetup = {
  id: string
  store: OpenStore
  agent: AnyAgent
  from: HostedFrom
  /** The `context` of the tools. */
  context: unknown
  /** The id of the chat that it is a turn of. */
  conversation: string | undefined
  items: Items
  tail: StreamTail
  incarnation: number
  recoveries: number
  /** Messages that its chart has not shown so far. */
  hidden: number
  /** The row of the run; undefined for one that is not stored yet. */
  stored: { n: number; packedSnapshot: string; status: RunStatus; isUnsettled: boolean } | undefined
  /** Stores a new run, and returns its number. */
  insert?(checkpoint: Checkpoint): number
  /** Throws inside a transaction if another process runs the agents now. */
  checkOwner(): void
  /** Called when a chunk can be read, or the status of the run has changed. */
  onChange(run: HostedRun, isStatus: boolean): void
  /** Called when the run stopped here: it is over, it waits, or the store failed. */
  onStop(run: HostedRun): void
}

/**
 * A run ended while a command of another process, already acknowledged, was still waiting for it: the end does not
 * count, and the run continues from the step before it.
 */
export class UnseenCommand extends Error {}

/** Time that text may be shown before it is stored. */
const flushMs = 20

/**
 * A run in this process. Each of its steps is stored as its first effect; what it shows is stored with the next step,
 * or a moment later. If the store fails, the run stops at its last stored step.
 */
export class HostedRun {
  readonly id: string
  readonly #setup: HostedSetup
  readonly #actor: Actor<AgentMachine>
  readonly #log: ChunkLog
  #number: number | undefined
  #packedSnapshot: string
  #status: { status: RunStatus; isUnsettled: boolean }
  /** Changes that go into the next transaction. */
  #due: (() => void)[] = []
  /** Messages that the chart did not show. */
  #hidden: number
  #isStarted = false
  #isOver = false
  #isSettling = false
  /** The store says that this incarnation has begun. */
  #hasBegun = false
  #timer: NodeJS.Timeout | undefined
  #failure: Error | undefined

  constructor(setup: HostedSetup) {
    const { id, agent, from, context, conversation, items, tail, incarnation, stored } = setup
    this.id = id
    this.#setup = setup
    this.#number = stored?.n
    this.#packedSnapshot = stored?.packedSnapshot ?? ''
    this.#status = { status: stored?.status ?? 'running', isUnsettled: stored?.isUnsettled ?? true }
    this.#log = new ChunkLog(items, tail, incarnation)
    const host = { writeAhead: () => this.#writeAhead() }
    const values = { context, ...(conversation !== undefined && { conversation }) }
    this.#actor = agentInternals(agent).actor(from, values, { host })
    this.#hidden = setup.hidden
  }

  /** The reason why its agent refuses to continue from what was stored. */
  get refusal(): ErrorData | undefined {
    const { status, error } = this.#actor.getSnapshot()
    return status === 'error' ? errorDataOf(error, 'ConfigurationError') : undefined
  }

  /** The number of its row, once it is stored. */
  get number(): number | undefined {
    return this.#number
  }

  /** The reason why it stopped before its end: the store failed. */
  get failure(): Error | undefined {
    return this.#failure
  }

  get pending(): PendingCall[] {
    return openIn(this.#actor.getSnapshot())
  }

  /** Finds the chunk after this one, if it is among the last ones. */
  chunkAfter(seq: number): PlacedChunk | undefined {
    return this.#log.after(seq)
  }

  /** Adds a change to the next transaction of the run. */
  inNextWrite(write: () => void): void {
    this.#due.push(write)
  }

  /** Shows readers what its chart does not. */
  show(chunks: readonly DurableChunk[]): void {
    for (const chunk of chunks) this.#log.push(chunk)
  }

  /** Starts or continues the run. It is stored when this returns. */
  start(): void {
    this.#actor.on('chunk', this.#onChunk)
    this.#actor.subscribe({ error: this.#onBroken, complete: this.#onComplete })
    this.#actor.start()
    this.#isStarted = true
    if (this.#failure) throw this.#failure
  }

  /** Gives the run a command. It is stored when this returns. */
  send(command: AgentCommand): void {
    this.#actor.send(command)
    // Any machine may have taken it, also a user's; and a command that changed nothing is done, too.
    if (!this.#isOver) this.#writeAhead()
    if (this.#due.length > 0) this.flush()
    if (this.#failure) throw this.#failure
  }

  /** Stores what was shown. */
  flush(): void {
    if (this.#isOver || this.#number === undefined) return
    const n = this.#number
    this.#attempt(() => this.#write('normal', () => n))
    this.#setup.onChange(this, false)
  }

  /** Stops without a change of what is stored. */
  stop(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#actor.stop()
    this.#setup.onStop(this)
  }

  /** Stores a step. It is called as the first effect of the step, so nothing takes effect that is not stored. */
  #writeAhead(): void {
    if (this.#failure) throw this.#failure
    if (this.#isOver) throw new OrchestrationError(`The run "${this.id}" is not running in this process.`)
    const checkpoint = this.#checkpoint()
    const { packedSnapshot, status } = checkpoint
    if (packedSnapshot !== this.#packedSnapshot || status !== this.#status.status) {
      // A restored run that ends at once would do so again.
      const mustSeeCommands = this.#isStarted && isAtEnd(this.#actor.getSnapshot())
      const { synchronous } = this.#setup.store
      this.#attempt(() => this.#write(synchronous, () => this.#store(checkpoint), mustSeeCommands))
      if (this.#failure) throw this.#failure
      this.#packedSnapshot = packedSnapshot
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

  #store(checkpoint: Checkpoint): number {
    const { store, insert } = this.#setup
    const { status, isUnsettled } = checkpoint
    if (this.#number === undefined && insert) {
      this.#status = { status, isUnsettled }
      return insert(checkpoint)
    }
    const n = this.#number ?? 0
    if (!store.runs.update(n, this.#setup.incarnation, checkpoint, Date.now())) throw new LostOwnership()
    return this.#setStatus(n, status, isUnsettled)
  }

  #setStatus(n: number, status: RunStatus, isUnsettled: boolean): number {
    if (status !== this.#status.status || isUnsettled !== this.#status.isUnsettled)
      this.#setup.store.runs.setStatus(n, status, isUnsettled)
    this.#status = { status, isUnsettled }
    return n
  }

  /** Refuses a write if the run is no longer this process's, and begins the incarnation with the first one. */
  #checkIncarnation(): void {
    const { store, incarnation, recoveries, checkOwner } = this.#setup
    checkOwner()
    const n = this.#number
    if (n === undefined) return
    const known = store.runs.incarnation(n)
    if (known === undefined)
      throw new OrchestrationError(`The run "${this.id}" was deleted while it was running.`)
    const holds = this.#hasBegun
      ? known === incarnation
      : store.runs.beginIncarnation(n, incarnation, recoveries)
    if (!holds) throw new LostOwnership()
  }

  /**
   * Makes one transaction of everything that is not stored yet. `change` returns the number of the run. The first one
   * of an incarnation waits for the disk: after a power failure, the incarnation before must not be the current one.
   */
  #write(synchronous: Synchronous, change: () => number, mustSeeCommands = false): void {
    const { store, items } = this.#setup
    this.#number = store.file.write(this.#hasBegun ? synchronous : 'full', () => {
      this.#checkIncarnation()
      const n = change()
      for (const write of this.#due) write()
      // Once this is stored, the run takes no more commands: those that are already waiting come first.
      if (mustSeeCommands && store.commands.of(n).length > 0) throw new UnseenCommand()
      store.items.insert(n, items.fresh)
      this.#log.writeTo(store.stream, n)
      return n
    })
    this.#hasBegun = true
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#due = []
    items.stored()
    this.#log.stored()
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
    const n = this.#number ?? 0
    this.#due = []
    try {
      this.#write('normal', () => n)
    } catch {
      // The next write of the run fails as well, and reports it.
    }
  }

  readonly #onChunk = (emitted: Extract<AgentEmitted, { type: 'chunk' }>): void => {
    if (this.#isOver || this.#failure) return
    this.#log.push(durableChunk(emitted))
    if (this.#log.mustStore) this.#settleSoon()
    else {
      this.#setup.onChange(this, false)
      this.#timer ??= setTimeout(() => this.flush(), flushMs).unref()
    }
  }

  /** Stores what a step showed once the step is over, and releases a run that waits. */
  #settleSoon(): void {
    if (this.#isSettling) return
    this.#isSettling = true
    queueMicrotask(() => {
      this.#isSettling = false
      if (this.#isOver || this.#failure) return
      // By now everything has been emitted, also what an inner run emits through its parents.
      this.#hidden = Math.max(0, messagesOf(this.#actor.getSnapshot()).length - this.#log.delivered)
      if (this.#status.status === 'waiting') this.#wait()
      else if (!this.#log.isStored) this.flush()
    })
  }

  #wait(): void {
    // Readers already know, unless something was decided since.
    if (this.#status.isUnsettled) this.#settle('waiting', waitChunk(this.pending))
    this.stop()
  }

  /** Stores that the run waits or is over, and that its readers know. */
  #settle(status: RunStatus, chunk?: DurableChunk): void {
    if (chunk) this.#log.push(chunk)
    const n = this.#number ?? 0
    this.#attempt(() => this.#write('normal', () => this.#setStatus(n, status, false)))
    this.#setup.onChange(this, true)
  }

  readonly #onComplete = (): void => {
    if (this.#isOver || this.#failure) return
    this.#settle(this.#status.status)
    this.stop()
  }

  readonly #onBroken = (cause: unknown): void => {
    if (this.#isOver || this.#failure) return
    const error = brokenError(this.#actor, cause)
    // A run that breaks before it is stored was never started.
    if (this.#number === undefined) this.#failure = error
    else {
      const { store } = this.#setup
      this.inNextWrite(() => store.runs.fail(this.#number ?? 0, errorDataOf(error), Date.now()))
      this.#settle('failed', endChunk('error'))
    }
    this.stop()
  }
}
