import type { Actor } from 'xstate'
import type { AgentMachine } from '../../machines/agent/agentSnapshot.ts'
import type { AgentCommand, AgentEmitted } from '../../machines/agent/events.ts'
import { pendingIn } from '../../machines/tools/pendingCalls.ts'
import type { AnyAgent, HostedFrom } from '../agent/Agent.ts'
import { agentInternals } from '../agent/AgentInternals.ts'
import { brokenError } from '../agent/runOutcome.ts'
import { type ErrorData, errorDataOf, OrchestrationError } from '../messages/errors.ts'
import type { PendingCall } from '../messages/result.ts'
import { ChunkLog, type PlacedChunk } from './ChunkLog.ts'
import { progressOf } from './progress.ts'
import { chunkWith, endChunk, waitChunk } from './runChunks.ts'
import type { DurableChunk, RunStatus } from './runs.ts'

import type { Items } from './sqlite/Items.ts'
import type { Progress } from './sqlite/RunRows.ts'
import type { Synchronous } from './sqlite/SqliteFile.ts'
import type { StreamTail } from './sqlite/StreamRows.ts'
import type { OpenStore } from './sqlite/sqlite.ts'
import { isAtEnd, messagesOf } from './standing.ts'

/** What a run in this process is made of. */
export type LiveSetup = {
  id: string
  store: OpenStore
  agent: AnyAgent
  from: HostedFrom
  /** What the tools get. */
  context: unknown
  items: Items
  tail: StreamTail
  life: number
  recoveries: number
  /** Messages that its chart has not shown so far. */
  hidden: number
  /** How it is stored; undefined for one that is not stored yet. */
  stored: { n: number; head: string; status: RunStatus; live: boolean } | undefined
  /** Stores a new one, and gives its number. */
  insert?(progress: Progress): number
  /** A chunk can be read, or the status of the run has changed. */
  onNews(run: LiveRun, isStand: boolean): void
  /** It stopped here: it is over, it waits, or the store failed. */
  onEnd(run: LiveRun): void
}

/**
 * A run ended while a command of another process, already acknowledged, was still waiting for it: the end does not
 * count, and the run continues from the step before it.
 */
export class UnheardCommand extends Error {}

/** How long text may be shown before it is stored. */
const flushMs = 20

/**
 * A run in this process. Each of its steps is stored as its first effect; what it shows is stored with the next step,
 * or a moment later. If the store fails, the run stops at its last stored step.
 */
export class LiveRun {
  readonly id: string
  readonly #setup: LiveSetup
  readonly #actor: Actor<AgentMachine>
  readonly #log: ChunkLog
  #number: number | undefined
  #head: string
  #stand: { status: RunStatus; live: boolean }
  /** What goes into the next transaction. */
  #due: (() => void)[] = []
  /** Messages that the chart did not show. */
  #hidden: number
  #isStarted = false
  #isOver = false
  #isSettling = false
  #timer: NodeJS.Timeout | undefined
  #failure: Error | undefined

  constructor(setup: LiveSetup) {
    const { id, agent, from, context, items, tail, life, stored } = setup
    this.id = id
    this.#setup = setup
    this.#number = stored?.n
    this.#head = stored?.head ?? ''
    this.#stand = { status: stored?.status ?? 'running', live: stored?.live ?? true }
    this.#log = new ChunkLog(items, tail, life)
    const host = { writeAhead: () => this.#writeAhead() }
    this.#actor = agentInternals(agent).actor(from, { context }, { host })
    this.#hidden = setup.hidden
  }

  /** Why its agent refuses to continue from what was stored. */
  get refusal(): ErrorData | undefined {
    const { status, error } = this.#actor.getSnapshot()
    return status === 'error' ? errorDataOf(error, 'ConfigurationError') : undefined
  }

  /** Its number in the file, once it is stored. */
  get number(): number | undefined {
    return this.#number
  }

  /** Why it stopped before its end: the store failed. */
  get failure(): Error | undefined {
    return this.#failure
  }

  get pending(): PendingCall[] {
    return pendingIn(this.#actor.getSnapshot())
  }

  /** The chunk after this one, if it is among the last ones. */
  chunkAfter(seq: number): PlacedChunk | undefined {
    return this.#log.after(seq)
  }

  /** Something that belongs into its next transaction. */
  alongside(write: () => void): void {
    this.#due.push(write)
  }

  /** Shows what its chart does not. */
  show(chunks: readonly DurableChunk[]): void {
    for (const chunk of chunks) this.#log.push(chunk)
  }

  /** It is stored when this returns. */
  start(): void {
    this.#actor.on('chunk', this.#hear)
    this.#actor.subscribe({ error: this.#broken, complete: this.#complete })
    this.#actor.start()
    this.#isStarted = true
    if (this.#failure) throw this.#failure
  }

  /** It is stored when this returns. */
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
    this.#setup.onNews(this, false)
  }

  /** Stops without a change of what is stored. */
  leave(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#actor.stop()
    this.#setup.onEnd(this)
  }

  #writeAhead(): void {
    if (this.#failure) throw this.#failure
    if (this.#isOver) throw new OrchestrationError(`The run "${this.id}" is not running in this process.`)
    const progress = this.#progress()
    if (progress.head !== this.#head || progress.status !== this.#stand.status) {
      // A restored run that ends at once would do so again.
      const mustHear = this.#isStarted && isAtEnd(this.#actor.getSnapshot())
      const { synchronous } = this.#setup.store
      this.#attempt(() => this.#write(synchronous, () => this.#store(progress), mustHear))
      if (this.#failure) throw this.#failure
      this.#head = progress.head
      this.#setup.onNews(this, true)
    }
    this.#settleSoon()
  }

  #progress(): Progress {
    const { items, recoveries } = this.#setup
    return progressOf(this.id, this.#actor, items, {
      // What a restored run does at once is not progress: it would do so in every life.
      recoveries: this.#isStarted ? 0 : recoveries,
      hidden: this.#hidden,
    })
  }

  #store(progress: Progress): number {
    const { store, insert } = this.#setup
    const { status, live } = progress
    if (this.#number === undefined && insert) {
      this.#stand = { status, live }
      return insert(progress)
    }
    const n = this.#number ?? 0
    if (!store.runs.update(n, progress, Date.now()))
      throw new OrchestrationError(`The run "${this.id}" was deleted while it was running.`)
    return this.#standAs(n, status, live)
  }

  #standAs(n: number, status: RunStatus, live: boolean): number {
    if (status !== this.#stand.status || live !== this.#stand.live)
      this.#setup.store.runs.stand(n, status, live)
    this.#stand = { status, live }
    return n
  }

  /** One transaction, with everything that is not stored yet. `change` gives the number of the run. */
  #write(synchronous: Synchronous, change: () => number, mustHear = false): void {
    const { store, items } = this.#setup
    this.#number = store.file.write(synchronous, () => {
      const n = change()
      for (const write of this.#due) write()
      // Once this is stored, the run takes no more commands: those that are already waiting come first.
      if (mustHear && store.commands.of(n).length > 0) throw new UnheardCommand()
      store.items.insert(n, items.fresh)
      this.#log.writeTo(store.stream, n)
      return n
    })
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#due = []
    items.stored()
    this.#log.stored()
  }

  /** A failure of the store ends the run in this process: nothing more of it may take effect. */
  #attempt(write: () => void): void {
    if (this.#failure) return
    try {
      write()
    } catch (thrown) {
      this.#failure = thrown instanceof Error ? thrown : new OrchestrationError(String(thrown))
      queueMicrotask(() => {
        if (thrown instanceof UnheardCommand) this.#keepShown()
        this.leave()
      })
    }
  }

  /** Readers in this process have seen what was not stored with the step that does not count: they read on from there. */
  #keepShown(): void {
    const n = this.#number ?? 0
    this.#due = []
    try {
      this.#write('normal', () => n)
    } catch {
      // The next write of the run fails as well, and reports it.
    }
  }

  readonly #hear = ({ type: _, pendingApproval: __, ...chunk }: Shown): void => {
    if (this.#isOver || this.#failure) return
    this.#log.push(chunkWith(chunk))
    if (this.#log.mustStore) this.#settleSoon()
    else {
      this.#setup.onNews(this, false)
      this.#timer ??= setTimeout(() => this.flush(), flushMs).unref()
    }
  }

  /** Once the step is over: what it showed is stored, and a run that waits is released. */
  #settleSoon(): void {
    if (this.#isSettling) return
    this.#isSettling = true
    queueMicrotask(() => {
      this.#isSettling = false
      if (this.#isOver || this.#failure) return
      // By now everything has been emitted, also what an inner run emits through its parents.
      this.#hidden = Math.max(0, messagesOf(this.#actor.getSnapshot()).length - this.#log.told)
      if (this.#stand.status === 'waiting') this.#wait()
      else if (!this.#log.isStored) this.flush()
    })
  }

  #wait(): void {
    // Readers already know, unless something was decided since.
    if (this.#stand.live) this.#end('waiting', waitChunk(this.pending))
    this.leave()
  }

  /** The run is paused, and its readers know. */
  #end(status: RunStatus, chunk?: DurableChunk): void {
    if (chunk) this.#log.push(chunk)
    const n = this.#number ?? 0
    this.#attempt(() => this.#write('normal', () => this.#standAs(n, status, false)))
    this.#setup.onNews(this, true)
  }

  readonly #complete = (): void => {
    if (this.#isOver || this.#failure) return
    this.#end(this.#stand.status)
    this.leave()
  }

  readonly #broken = (cause: unknown): void => {
    if (this.#isOver || this.#failure) return
    const error = brokenError(this.#actor, cause)
    // A run that breaks before it is stored is none.
    if (this.#number === undefined) this.#failure = error
    else {
      const { store } = this.#setup
      this.alongside(() => store.runs.fail(this.#number ?? 0, errorDataOf(error), Date.now()))
      this.#end('failed', endChunk('error'))
    }
    this.leave()
  }
}

type Shown = Extract<AgentEmitted, { type: 'chunk' }>
