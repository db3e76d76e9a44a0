import { ConfigurationError, type ErrorData } from '../../messages/errors.ts'
import { decisionsLast, isApplicable } from '../commands.ts'
import { Alarm } from './Alarm.ts'
import type { StoredCommand } from './CommandRows.ts'
import { HostedRun } from './HostedRun.ts'
import type { Items } from './Items.ts'
import { LostOwnership } from './Ownership.ts'
import type { OwnerOptions, RunRequest } from './ownerOptions.ts'
import { type Results, UnseenCommand } from './RunWriter.ts'
import { abandonRun, beginRun, restoreRun, showStatus } from './recovery.ts'
import { type Checkpoint, infoOf, type RunRow } from './runRow.ts'
import { StoppedRuns } from './StoppedRuns.ts'
import { Suspects } from './Suspects.ts'
import type { OpenStore } from './sqlite.ts'
import { isPassing } from './storeErrors.ts'

/** The parts of the owner that its runs need. */
type HostedRunsSetup = {
  store: OpenStore
  options: OwnerOptions
  /** Says whether this process runs the agents. */
  isOwner(): boolean
  /** Throws inside a transaction if another process runs the agents now. */
  checkOwner(): void
  /** Called when another process runs the agents now. */
  onLost(): void
  /** Called when a run has new chunks, or another status. */
  onChange(n: number, isStatus: boolean): void
}

/** The agent of a run does not take its snapshot. */
class Refused extends ConfigurationError {}

/** Time for which runs are recovered or stopped while nothing else of the process happens. */
const longMs = 50

/** Starts a measurement: says whether it has taken long. */
const stopwatch = (): (() => boolean) => {
  const begun = performance.now()
  return () => performance.now() - begun > longMs
}

/** The runs of this process while it owns the store, and those that wait for their turn. */
export class HostedRuns {
  readonly #setup: HostedRunsSetup
  readonly #hosted = new Map<number, HostedRun>()
  readonly #stopped = new StoppedRuns(() => this.#serveIfOwner())
  /** Results of calls that could not be stored before their run stopped: it gets them when it continues here. */
  readonly #unstored = new Map<number, Results>()
  readonly #alarm: Alarm
  readonly #suspects: Suspects
  #isServing = false
  #isStopping = false
  #onIdle = () => {}
  #later: NodeJS.Timeout | undefined
  /** The next part of the runs that must continue. */
  #next: NodeJS.Immediate | undefined

  constructor(setup: HostedRunsSetup) {
    this.#setup = setup
    this.#suspects = new Suspects(setup.options.maxRecoveries)
    this.#alarm = new Alarm(setup.store, () => this.#serveIfOwner())
  }

  get size(): number {
    return this.#hosted.size
  }

  get(n: number): HostedRun | undefined {
    return this.#hosted.get(n)
  }

  /** The reason why a run stopped here, and whether it continues by itself once the reason is gone. */
  failureOf(n: number): { error: Error; isTemporary: boolean } | undefined {
    const error = this.#hosted.get(n)?.obstacle
    return this.#stopped.failureOf(n) ?? (error && { error, isTemporary: true })
  }

  /** Lets a run that stopped try again: what was in its way may be gone. */
  retry(n: number): void {
    this.#stopped.retry(n)
  }

  /** Says whether one more run may be under way. */
  get hasRoom(): boolean {
    return !this.#isStopping && this.#hosted.size < this.#setup.options.concurrency
  }

  /** Stores a new run, and starts it. */
  begin(run: RunRequest, insert: (checkpoint: Checkpoint) => number, items: Items): void {
    const { store, options } = this.#setup
    beginRun(store, run, insert, items, options, this.#listeners).start()
  }

  /**
   * Recovers every run that must continue, and applies the commands that were enqueued. Each run waits for the disk: many of
   * them are recovered bit by bit, and other work of the process goes on in between.
   */
  serve(): void {
    const { store, options } = this.#setup
    const isLong = stopwatch()
    for (const { n, agent, status, recoveries } of this.#suspects.ordered(store.runs.unsettled())) {
      if (!this.#isServed) return
      if (this.#hosted.has(n) || this.#stopped.isHeldBack(n) || !options.agents.find(agent)) continue
      const isPoison = recoveries >= options.maxRecoveries
      if (status === 'running' && !isPoison && !(this.hasRoom && this.#suspects.mayTry({ n, recoveries })))
        continue
      this.#guarded(n, () => {
        const row = store.runs.byNumber(n)
        if (row) this.#recover(row)
      })
      // One that could not be restored never stops: the next suspect gets its turn.
      if (!this.#hosted.has(n)) this.#suspects.release(n)
      if (isLong()) {
        this.#next ??= setImmediate(() => {
          this.#next = undefined
          this.#serveIfOwner()
        })
        break
      }
    }
    for (const n of store.commands.runs()) {
      if (!this.#isServed) return
      this.#guarded(n, () => this.#applyCommands(n))
    }
    this.#wakeDue()
    this.#alarm.reset()
  }

  /** Continues the runs that wait and whose time has come: their own timers decide what happens. */
  #wakeDue(): void {
    const { store, options } = this.#setup
    for (const { n, agent } of store.runs.due(Date.now())) {
      if (!this.#isServed || !this.hasRoom) return
      if (this.#hosted.has(n) || this.#stopped.isHeldBack(n) || !options.agents.find(agent)) continue
      this.#guarded(n, () => {
        const row = store.runs.byNumber(n)
        if (row) this.#restore(row)
      })
    }
  }

  /** Serves now, or half a second later if the store cannot even be read: that is no failure of the caller. */
  serveOrLater(): void {
    try {
      this.serve()
    } catch {
      this.#later ??= setTimeout(() => {
        this.#later = undefined
        this.#serveIfOwner()
      }, 500).unref()
    }
  }

  #serveIfOwner(): void {
    if (this.#isServed) this.serveOrLater()
  }

  /** Stops a run without a change of what is stored, and forgets it. */
  drop(n: number): void {
    this.#hosted.get(n)?.stop()
    this.#unstored.delete(n)
    this.retry(n)
  }

  /** Stops all runs at once, and changes nothing in the store: another process has taken over. */
  stopAll(): void {
    this.#alarm.stop()
    for (const run of [...this.#hosted.values()]) run.stop()
  }

  /** Begins nothing more, gives the tools that are running some time to end, and stops. */
  async drain(ms: number): Promise<void> {
    this.#isStopping = true
    this.#alarm.stop()
    for (const run of this.#hosted.values()) run.drain()
    if (ms > 0) {
      await this.#bitByBit((run) => run.stopIfDrained())
      if (this.#hosted.size > 0)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          this.#onIdle = () => {
            clearTimeout(timer)
            resolve()
          }
        })
    }
    await this.#bitByBit((run) => run.release())
    this.#stopped.clear()
  }

  /** Does something with each run. Between some of them, other work of the process goes on. */
  async #bitByBit(act: (run: HostedRun) => void): Promise<void> {
    let isLong = stopwatch()
    for (const run of [...this.#hosted.values()]) {
      act(run)
      if (!isLong()) continue
      await new Promise((resolve) => setImmediate(resolve))
      isLong = stopwatch()
    }
  }

  get #isServed(): boolean {
    return this.#setup.isOwner() && !this.#isStopping
  }

  #recover(row: RunRow): void {
    const { store, options } = this.#setup
    const { id, status, incarnation, recoveries } = row
    if (status !== 'running') {
      showStatus(store, row, this.#setup.checkOwner)
      this.#notify(row.n)
    } else if (incarnation > 0 && recoveries >= options.maxRecoveries)
      this.#abandon(row, {
        name: 'OrchestrationError',
        message: `The run "${id}" was abandoned: it was started again ${recoveries} times and made no progress. What ended its process did so each time; fork it to try once more.`,
      })
    else this.#restore(row)
  }

  /** Continues a stored run. One that its agent refuses is left alone: a later release, or the agent of before, may take it. */
  #restore(row: RunRow): HostedRun | undefined {
    const { store, options, checkOwner } = this.#setup
    const context = options.context(store.runs.context(row.n), infoOf(row))
    const parts = { ...this.#listeners, unstored: this.#unstored.get(row.n) }
    const restored = restoreRun(store, row, options.agents.get(row.agent), context, parts)
    if (restored instanceof HostedRun) {
      this.#unstored.delete(row.n)
      this.#hosted.set(row.n, restored)
      if (row.status === 'running') restored.flush()
      restored.start()
      return restored
    }
    if (!restored.isRefused) return this.#abandon(row, restored.error)
    const { message } = restored.error
    if (row.blocked !== message)
      store.file.write('normal', () => {
        checkOwner()
        store.runs.block(row.n, message)
      })
    throw new Refused(message)
  }

  #abandon(row: RunRow, error: ErrorData): undefined {
    abandonRun(this.#setup.store, row, error, this.#setup.checkOwner)
    this.#notify(row.n)
  }

  /** Applies the commands that were enqueued for a run. */
  #applyCommands(n: number): void {
    for (const stored of decisionsLast(this.#setup.store.commands.of(n)))
      this.#guarded(n, () => this.#applyCommand(stored))
  }

  /** Applies an enqueued command, and deletes it in the same transaction as its effect. */
  #applyCommand(stored: StoredCommand): void {
    const { n, run, command } = stored
    const { store, options, checkOwner } = this.#setup
    // A run that its agent refuses can still be aborted.
    if (this.#stopped.isHeldBack(run) && command.type !== 'abort') return
    const row = store.runs.byNumber(run)
    if (row && !options.agents.find(row.agent)) return
    const isOpen = row?.status === 'running' || row?.status === 'waiting'
    const hosted = this.#hosted.get(run)
    if (isOpen && isApplicable(command, hosted?.pending ?? row.pending)) {
      // An abort takes no time, so it need not wait for a place.
      if (hosted || this.hasRoom || command.type === 'abort') this.#continueWith(row, stored)
    } else
      store.file.write(store.synchronous, () => {
        checkOwner()
        store.commands.delete(n)
      })
  }

  /** Gives a run a command; one that is not under way is restored first. */
  #continueWith(row: RunRow, { n, command }: StoredCommand): void {
    const { commands } = this.#setup.store
    try {
      const run = this.#hosted.get(row.n) ?? this.#restore(row)
      // A run that starts takes some of them by itself.
      if (run && commands.has(n)) run.send(command, () => commands.delete(n))
    } catch (thrown) {
      if (!(thrown instanceof Refused) || command.type !== 'abort') throw thrown
      this.#abandon(row, { name: 'ConfigurationError', message: thrown.message })
    }
  }

  /** Keeps the failure of one run away from the others. */
  #guarded(n: number, attempt: () => void): void {
    try {
      attempt()
    } catch (thrown) {
      this.#fail(n, thrown instanceof Error ? thrown : new Error(String(thrown)))
      this.#notify(n)
    }
  }

  #fail(n: number, error: Error): void {
    if (error instanceof LostOwnership) this.#setup.onLost()
    // It stops in a moment, and continues with that command.
    else if (!(error instanceof UnseenCommand)) this.#stopped.add(n, error)
  }

  /** Looks once more, after this step, for runs that may continue. */
  #serveSoon(): void {
    if (this.#isServing) return
    this.#isServing = true
    queueMicrotask(() => {
      this.#isServing = false
      this.#serveIfOwner()
    })
  }

  #notify(n: number): void {
    this.#setup.onChange(n, true)
  }

  readonly #listeners = {
    checkOwner: () => this.#setup.checkOwner(),
    takeCommands: ({ number }: HostedRun): void => {
      if (number === undefined || !this.#setup.isOwner()) return
      this.#guarded(number, () => this.#applyCommands(number))
    },
    onChange: (run: HostedRun, isStatus: boolean): void => {
      const { number, hasProgressed, failure } = run
      if (number === undefined) return
      this.#hosted.set(number, run)
      if (!failure) this.#stopped.forget(number)
      this.#setup.onChange(number, isStatus)
      if (!this.#suspects.isTried(number) || !hasProgressed) return
      this.#suspects.release(number)
      this.#serveSoon()
    },
    onStop: ({ number, failure, due, unstored }: HostedRun): void => {
      if (number === undefined) return
      this.#hosted.delete(number)
      if (isPassing(failure) && unstored.size > 0) this.#unstored.set(number, new Map(unstored))
      if (due !== undefined && this.#isServed) this.#alarm.add(due)
      if (this.#hosted.size === 0) this.#onIdle()
      const isUnseen = failure instanceof UnseenCommand
      const isAwaited =
        isUnseen || this.#suspects.isTried(number) || Number.isFinite(this.#setup.options.concurrency)
      this.#suspects.release(number)
      if (failure) this.#fail(number, failure)
      if (isAwaited) this.#serveSoon()
      this.#notify(number)
    },
  }
}
