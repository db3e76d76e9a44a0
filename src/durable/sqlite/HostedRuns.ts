import type { AgentCommand } from '../../../machines/agent/events.ts'
import { ConfigurationError, type ErrorData } from '../../messages/errors.ts'
import { isApplicable } from '../commands.ts'
import type { StoredCommand } from './CommandRows.ts'
import { HostedRun } from './HostedRun.ts'
import type { Items } from './Items.ts'
import { LostOwnership } from './Ownership.ts'
import type { OwnerOptions, RunRequest } from './ownerOptions.ts'
import { UnseenCommand } from './RunWriter.ts'
import { abandonRun, restoreRun, showStatus } from './recovery.ts'
import { type Checkpoint, infoOf, notStarted, type RunRow } from './runRow.ts'
import { isPassing } from './SqliteFile.ts'
import { Suspects } from './Suspects.ts'
import type { OpenStore } from './sqlite.ts'

/** The parts of the owner that its runs need. */
export type HostedRunsSetup = {
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

/** A run that stopped here and must continue. */
type Stopped = {
  error: Error
  /** Failures of the store in a row; 0 if it was something else, which another try would meet again. */
  failures: number
  /** The wait for the next try; undefined while it is tried. */
  timer?: NodeJS.Timeout | undefined
}

/** The agent of a run does not take its snapshot. */
class Refused extends ConfigurationError {}

/** Times between two tries of a run whose store failed. */
const firstPauseMs = 50
const longestPauseMs = 5000
/** The runs of this process while it owns the store, and those that wait for their turn. */
export class HostedRuns {
  readonly #setup: HostedRunsSetup
  readonly #hosted = new Map<number, HostedRun>()
  readonly #stopped = new Map<number, Stopped>()
  readonly #suspects: Suspects
  #isServing = false
  #isStopping = false
  #onIdle = () => {}
  #later: NodeJS.Timeout | undefined

  constructor(setup: HostedRunsSetup) {
    this.#setup = setup
    this.#suspects = new Suspects(setup.options.maxRecoveries)
  }

  get size(): number {
    return this.#hosted.size
  }

  get(n: number): HostedRun | undefined {
    return this.#hosted.get(n)
  }

  /** The reason why a run stopped here, and whether it continues by itself once the reason is gone. */
  failureOf(n: number): { error: Error; isTemporary: boolean } | undefined {
    const stopped = this.#stopped.get(n)
    return stopped && { error: stopped.error, isTemporary: stopped.failures > 0 }
  }

  /** Lets a run that stopped try again: what was in its way may be gone. */
  retry(n: number): void {
    clearTimeout(this.#stopped.get(n)?.timer)
    this.#stopped.delete(n)
  }

  /** Says whether one more run may be under way. */
  get hasRoom(): boolean {
    return !this.#isStopping && this.#hosted.size < this.#setup.options.concurrency
  }

  /** Stores a new run, and starts it. */
  begin(run: RunRequest, insert: (checkpoint: Checkpoint) => number, items: Items): void {
    const { store, options } = this.#setup
    const { id, agent, input } = run
    const now = Date.now()
    const row = {
      ...run,
      ...notStarted,
      n: 0,
      incarnation: 0,
      blocked: undefined,
      created: now,
      updated: now,
    }
    const stored: unknown = run.context === undefined ? undefined : JSON.parse(run.context)
    const hosted = new HostedRun({
      ...this.#listeners,
      id,
      store,
      agent: options.agents.get(agent),
      from: { input },
      answer: run.answer,
      conversation: run.conversation,
      items,
      context: options.context(stored, infoOf(row)),
      tail: { seq: 0, incarnation: 0, delivered: 0, isOpen: false },
      incarnation: 1,
      recoveries: 0,
      released: 0,
      hidden: 0,
      stoppedMs: 0,
      stored: undefined,
      insert: (checkpoint) => {
        const n = insert(checkpoint)
        store.runs.beginIncarnation(n, 1, 0)
        return n
      },
    })
    hosted.start()
  }

  /** Recovers every run that must continue, and applies the commands that were enqueued. */
  serve(): void {
    const { store, options } = this.#setup
    for (const { n, agent, status, recoveries } of this.#suspects.ordered(store.runs.unsettled())) {
      if (!this.#isServed) return
      if (this.#hosted.has(n) || this.#isHeldBack(n) || !options.agents.find(agent)) continue
      const isPoison = recoveries >= options.maxRecoveries
      if (status === 'running' && !isPoison && !(this.hasRoom && this.#suspects.mayTry({ n, recoveries })))
        continue
      this.#guarded(n, () => {
        const row = store.runs.byNumber(n)
        if (row) this.#recover(row)
      })
      // One that could not be restored never stops: the next suspect gets its turn.
      if (!this.#hosted.has(n)) this.#suspects.release(n)
    }
    for (const { run, read } of store.commands.all()) {
      if (!this.#isServed) return
      this.#guarded(run, () => {
        const stored = read()
        // A run that its agent refuses can still be aborted.
        if (!this.#isHeldBack(run) || stored.command.type === 'abort') this.#applyCommand(stored)
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
        if (this.#isServed) this.serveOrLater()
      }, 500).unref()
    }
  }

  /** Stops a run without a change of what is stored, and forgets it. */
  drop(n: number): void {
    this.#hosted.get(n)?.stop()
    this.retry(n)
  }

  /** Stops all runs at once, and changes nothing in the store: another process has taken over. */
  stopAll(): void {
    for (const run of [...this.#hosted.values()]) run.stop()
  }

  /** Begins nothing more, gives the tools that are running some time to end, and stops. */
  async drain(ms: number): Promise<void> {
    this.#isStopping = true
    if (ms > 0) {
      for (const run of [...this.#hosted.values()]) run.drain()
      if (this.#hosted.size > 0)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          this.#onIdle = () => {
            clearTimeout(timer)
            resolve()
          }
        })
    }
    for (const run of [...this.#hosted.values()]) run.release()
    for (const n of [...this.#stopped.keys()]) this.retry(n)
  }

  get #isServed(): boolean {
    return this.#setup.isOwner() && !this.#isStopping
  }

  #isHeldBack(n: number): boolean {
    const stopped = this.#stopped.get(n)
    return stopped !== undefined && (stopped.failures === 0 || stopped.timer !== undefined)
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
    const restored = restoreRun(store, row, options.agents.get(row.agent), context, this.#listeners)
    if (restored instanceof HostedRun) {
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

  /** Applies an enqueued command, and deletes it in the same transaction as its effect. */
  #applyCommand({ n, run, command }: StoredCommand): void {
    const { store, options, checkOwner } = this.#setup
    const remove = () => store.commands.delete(n)
    const row = store.runs.byNumber(run)
    if (row && !options.agents.find(row.agent)) return
    const isOpen = row?.status === 'running' || row?.status === 'waiting'
    const hosted = this.#hosted.get(run)
    if (isOpen && isApplicable(command, hosted?.pending ?? row.pending)) {
      // An abort takes no time, so it need not wait for a place.
      if (hosted || this.hasRoom || command.type === 'abort') this.#continueWith(row, command, remove)
    } else
      store.file.write(store.synchronous, () => {
        checkOwner()
        remove()
      })
  }

  /** Gives a run a command; one that is not under way is restored first. */
  #continueWith(row: RunRow, command: AgentCommand, inSameWrite: () => void): void {
    try {
      const run = this.#hosted.get(row.n) ?? this.#restore(row)
      if (!run) return
      run.inNextWrite(inSameWrite)
      run.send(command)
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
    if (error instanceof LostOwnership) {
      this.#setup.onLost()
      return
    }
    const before = this.#stopped.get(n)
    if (before?.timer) return
    const failures = isPassing(error) ? (before?.failures ?? 0) + 1 : 0
    const stopped: Stopped = { error, failures }
    this.#stopped.set(n, stopped)
    if (failures === 0) return
    stopped.timer = setTimeout(
      () => {
        stopped.timer = undefined
        if (this.#isServed) this.serveOrLater()
      },
      Math.min(firstPauseMs * 2 ** (failures - 1), longestPauseMs),
    ).unref()
  }

  /** Looks once more, after this step, for runs that may continue. */
  #serveSoon(): void {
    if (this.#isServing) return
    this.#isServing = true
    queueMicrotask(() => {
      this.#isServing = false
      if (this.#isServed) this.serveOrLater()
    })
  }

  #notify(n: number): void {
    this.#setup.onChange(n, true)
  }

  readonly #listeners = {
    checkOwner: () => this.#setup.checkOwner(),
    takeCommands: ({ number }: HostedRun): void => {
      if (number === undefined || !this.#setup.isOwner()) return
      this.#guarded(number, () => {
        for (const stored of this.#setup.store.commands.of(number)) this.#applyCommand(stored)
      })
    },
    onChange: (run: HostedRun, isStatus: boolean): void => {
      const { number, hasProgressed, failure } = run
      if (number === undefined) return
      this.#hosted.set(number, run)
      if (!failure) this.#stopped.delete(number)
      this.#setup.onChange(number, isStatus)
      if (!this.#suspects.isTried(number) || !hasProgressed) return
      this.#suspects.release(number)
      this.#serveSoon()
    },
    onStop: ({ number, failure }: HostedRun): void => {
      if (number === undefined) return
      this.#hosted.delete(number)
      if (this.#hosted.size === 0) this.#onIdle()
      const isUnseen = failure instanceof UnseenCommand
      const isAwaited =
        isUnseen || this.#suspects.isTried(number) || Number.isFinite(this.#setup.options.concurrency)
      this.#suspects.release(number)
      if (failure && !isUnseen) this.#fail(number, failure)
      if (isAwaited) this.#serveSoon()
      this.#notify(number)
    },
  }
}
