import type { AgentCommand } from '../../../machines/agent/events.ts'
import type { AnyAgent } from '../../agent/Agent.ts'
import { ConfigurationError, type ErrorData } from '../../messages/errors.ts'
import { checkStoredCommand, isApplicable } from '../commands.ts'
import { type Agents, unknownRun } from '../runOptions.ts'
import { isAtEnd } from '../snapshots.ts'
import { HostedRun, UnseenCommand } from './HostedRun.ts'
import { hasOwner, LostOwnership, Ownership } from './Ownership.ts'
import type { OwnerOptions, RunRequest } from './ownerOptions.ts'
import { pack } from './pack.ts'
import { type Checkpoint, infoOf, type NewRun, notStarted, type RunRow, type RunSummary } from './RunRows.ts'
import { Poll, RunSignal } from './RunSignal.ts'
import { abandonRun, restoreRun, showStatus } from './recovery.ts'
import type { OpenStore } from './sqlite.ts'

/** Time between two looks at what other processes have written. */
const pollMs = 20
/** Looks between two attempts to take over from a process that is gone. */
const takeOverPolls = 12

/**
 * Runs the agents of a store while this process owns it; otherwise waits for its turn. Processes that do not own the
 * store enqueue commands, and the owner applies them.
 */
export class RunOwner {
  readonly store: OpenStore
  /** Notified when a run has new chunks. */
  readonly chunks: RunSignal
  /** Notified when a run has another status. */
  readonly statuses: RunSignal
  readonly #options: OwnerOptions
  /** Undefined in a guest: it can run nothing, and leaves the store to processes that can. */
  readonly #ownership: Ownership | undefined
  readonly #hosted = new Map<number, HostedRun>()
  /** Errors of runs that stopped in this process, because the store failed. */
  readonly #failures = new Map<number, Error>()
  readonly #poll = new Poll(() => this.#look(), pollMs)
  #polls = 0
  #version: number

  constructor(store: OpenStore, options: OwnerOptions) {
    this.store = store
    this.#options = options
    this.#ownership = this.isGuest ? undefined : new Ownership(store.file, store.openDriver)
    this.chunks = new RunSignal(this.#poll.hold)
    this.statuses = new RunSignal(this.#poll.hold)
    this.#version = store.file.dataVersion()
    if (this.#ownership?.take(this.agents.names)) this.#serve()
  }

  get agents(): Agents {
    return this.#options.agents
  }

  /** Says whether this process runs the agents. */
  get isOwner(): boolean {
    return this.#ownership?.isHeld ?? false
  }

  /** Says whether this process has no agents, and so never runs any. */
  get isGuest(): boolean {
    return this.agents.names.length === 0
  }

  /** Says whether any process runs the agents, this one or another. */
  get hasOwner(): boolean {
    return this.isOwner || hasOwner(this.store.file.path, this.store.openDriver)
  }

  /** Finds a run that runs in this process. */
  hosted(n: number): HostedRun | undefined {
    return this.#hosted.get(n)
  }

  /** The reason why a run stopped here, although it should continue. */
  failureOf({ n, agent }: RunSummary): Error | undefined {
    const failure = this.#failures.get(n)
    if (failure) return failure
    const { agents } = this
    return this.isOwner && !agents.find(agent) ? agents.missing(agent) : undefined
  }

  /** Stores a new run; the owner of the store starts it. */
  begin(run: RunRequest): void {
    const agent = this.#knownAgent(run.agent)
    const { store } = this
    const { id, input, base, forkedFrom, inSameWrite } = run
    const items = store.items.inherit(base)
    const insert = (checkpoint: Checkpoint): number => {
      const n = store.runs.insert({ ...run, ...checkpoint, base, forkedFrom }, Date.now())
      inSameWrite?.(n)
      return n
    }
    if (!agent || !this.isOwner) {
      const checkpoint = { ...notStarted, packedSnapshot: pack({ input }, items) }
      store.file.write(store.synchronous, () => store.items.insert(insert(checkpoint), items.fresh))
      return
    }
    const now = Date.now()
    const row = { ...run, ...notStarted, base, forkedFrom, n: 0, incarnation: 0, created: now, updated: now }
    const stored: unknown = run.context === undefined ? undefined : JSON.parse(run.context)
    const hosted = new HostedRun({
      ...this.#listeners,
      id,
      store,
      agent,
      from: { input },
      items,
      context: this.#options.context(stored, infoOf(row)),
      conversation: run.conversation,
      tail: { seq: 0, incarnation: 0, delivered: 0, isOpen: false },
      incarnation: 1,
      recoveries: 0,
      hidden: 0,
      stored: undefined,
      insert: (checkpoint) => {
        const n = insert(checkpoint)
        store.runs.beginIncarnation(n, 1, 0)
        return n
      },
    })
    this.#unlessLost(
      () => hosted.start(),
      () => this.begin(run),
    )
  }

  /** Stores a run that continues from the state of another one. */
  adopt(run: NewRun): void {
    this.#knownAgent(run.agent)
    const { file, runs, synchronous } = this.store
    file.write(synchronous, () => void runs.insert(run, Date.now()))
    if (this.isOwner) this.#serve()
  }

  /** Stops a run that is about to be deleted. */
  drop(n: number): void {
    this.#hosted.get(n)?.stop()
    this.#failures.delete(n)
  }

  /** Stops a run as if its process had died, and continues it from what is stored. False if it does not run here. */
  restart(id: string): boolean {
    const n = this.store.runs.summary(id)?.n
    const run = n === undefined ? undefined : this.#hosted.get(n)
    if (!run) return false
    // Readers in this process stay: what they have seen must be there when the run continues.
    run.flush()
    run.stop()
    this.#serve()
    return true
  }

  /** Sends a command to a run. It is stored when this returns. */
  send(id: string, given: unknown): void {
    const run = this.store.runs.summary(id)
    if (!run) throw unknownRun(id)
    // The store may work again: a run can continue from what it has.
    this.#failures.delete(run.n)
    const failure = this.failureOf(run)
    if (failure) throw failure
    this.#enqueueCommand(run, given)
  }

  close(): void {
    this.#poll.stop()
    for (const run of [...this.#hosted.values()]) {
      run.flush()
      run.stop()
    }
    this.#ownership?.release()
    this.store.file.close()
    this.chunks.notifyAll()
    this.statuses.notifyAll()
  }

  /**
   * Stores a command for the process that runs the agents, also if this is the one: two processes may decide on a call
   * at the same moment, and the first one that is stored counts. So it is judged in the transaction that stores it.
   */
  #enqueueCommand(run: RunSummary, given: unknown): void {
    const { file, runs, commands, synchronous } = this.store
    file.write(synchronous, () => commands.insert(run.n, this.#checked(runs.summary(run.id) ?? run, given)))
    if (this.isOwner) this.#serve()
  }

  #checked(run: RunSummary, given: unknown): AgentCommand {
    const { commands, runs } = this.store
    const enqueued = commands.of(run.n).map(({ command }) => command)
    const command = checkStoredCommand(given, run, enqueued)
    // Its process died between the end of the last run that it is made of and its own: it takes no more commands.
    const { snapshot } = Object(JSON.parse(runs.byNumber(run.n)?.packedSnapshot ?? '{}'))
    if (command.type === 'steer' && isAtEnd(snapshot))
      throw new ConfigurationError(`The run "${run.id}" is about to end, and can no longer be steered.`)
    return command
  }

  /** Recovers every run that must continue, and applies the commands that other processes have enqueued. */
  #serve(): void {
    for (const { n, agent } of this.store.runs.unsettled()) {
      if (!this.isOwner) return
      if (this.#hosted.has(n) || this.#failures.has(n) || !this.agents.find(agent)) continue
      this.#guarded(n, () => {
        const row = this.store.runs.byNumber(n)
        if (row) this.#recover(row)
      })
    }
    for (const { n, run, command } of this.store.commands.all())
      if (!this.#failures.has(run)) this.#guarded(run, () => this.#applyCommand(n, run, command))
  }

  #recover(row: RunRow): void {
    const { id, status, incarnation, recoveries } = row
    if (status !== 'running') {
      showStatus(this.store, row, this.#checkOwner)
      this.#notify(row.n)
    } else if (incarnation > 0 && recoveries >= this.#options.maxRecoveries)
      this.#abandon(row, {
        name: 'OrchestrationError',
        message: `The run "${id}" was abandoned: it was started again ${recoveries} times and made no progress. What ended its process did so each time; fork it to try once more.`,
      })
    else this.#restore(row)
  }

  /** Continues a stored run; one that cannot continue is abandoned. */
  #restore(row: RunRow): HostedRun | undefined {
    const agent = this.agents.get(row.agent)
    const context = this.#options.context(this.store.runs.context(row.n), infoOf(row))
    const restored = restoreRun(this.store, row, agent, context, this.#listeners)
    if (!(restored instanceof HostedRun)) return this.#abandon(row, restored)
    this.#hosted.set(row.n, restored)
    if (row.status === 'running') restored.flush()
    restored.start()
    return restored
  }

  #abandon(row: RunRow, error: ErrorData): undefined {
    abandonRun(this.store, row, error, this.#checkOwner)
    this.#notify(row.n)
  }

  /** Applies an enqueued command, and deletes it in the same transaction as its effect. */
  #applyCommand(n: number, run: number, command: AgentCommand): void {
    const { file, runs, commands, synchronous } = this.store
    const remove = () => commands.delete(n)
    const row = runs.byNumber(run)
    if (row && !this.agents.find(row.agent)) return
    const isOpen = row?.status === 'running' || row?.status === 'waiting'
    const pending = this.#hosted.get(run)?.pending ?? row?.pending ?? []
    if (isOpen && isApplicable(command, pending)) this.#continueWith(run, command, remove)
    else
      file.write(synchronous, () => {
        this.#checkOwner()
        remove()
      })
  }

  /** Gives a run a command; one that waits is restored first. */
  #continueWith(n: number, command: AgentCommand, inSameWrite: () => void = () => {}): void {
    const row = this.store.runs.byNumber(n)
    const run = this.#hosted.get(n) ?? (row && this.#restore(row))
    if (!run) {
      inSameWrite()
      return
    }
    run.inNextWrite(inSameWrite)
    run.send(command)
  }

  /** Does something as the owner; if this process is no longer the owner, does something else. */
  #unlessLost(asOwner: () => void, otherwise: () => void): void {
    try {
      asOwner()
    } catch (thrown) {
      if (!(thrown instanceof LostOwnership)) throw thrown
      this.#lose()
      otherwise()
    }
  }

  /** Stops every run of this process: another one has taken over. This one waits for its turn again. */
  #lose(): void {
    this.#ownership?.release()
    for (const run of [...this.#hosted.values()]) run.stop()
  }

  readonly #checkOwner = (): void => this.#ownership?.check()

  /** Keeps the failure of one run away from the others. */
  #guarded(n: number, attempt: () => void): void {
    try {
      attempt()
    } catch (thrown) {
      if (thrown instanceof LostOwnership) this.#lose()
      else this.#failures.set(n, thrown instanceof Error ? thrown : new Error(String(thrown)))
      this.statuses.notify(n)
    }
  }

  readonly #listeners = {
    checkOwner: () => this.#checkOwner(),
    onChange: (run: HostedRun, isStatus: boolean): void => {
      const { number } = run
      if (number === undefined) return
      this.#hosted.set(number, run)
      this.chunks.notify(number)
      if (isStatus) this.statuses.notify(number)
    },
    onStop: ({ number, failure }: HostedRun): void => {
      if (number === undefined) return
      this.#hosted.delete(number)
      if (failure instanceof UnseenCommand) {
        if (this.isOwner) this.#serve()
        return
      }
      if (failure instanceof LostOwnership) this.#lose()
      else if (failure) this.#failures.set(number, failure)
      this.#notify(number)
    },
  }

  #notify(n: number): void {
    this.chunks.notify(n)
    this.statuses.notify(n)
  }

  /** The agent of a new run. A guest has none, and leaves the check to the owner of the store. */
  #knownAgent(name: string): AnyAgent | undefined {
    return this.isGuest ? undefined : this.agents.get(name)
  }

  #look(): void {
    try {
      this.#polls += 1
      const isNew =
        !this.isOwner && this.#polls % takeOverPolls === 0 && this.#ownership?.take(this.agents.names)
      const version = this.store.file.dataVersion()
      if (version === this.#version && !isNew) return
      this.#version = version
      if (this.isOwner) this.#unlessLost(this.#checkOwner, () => {})
      if (this.isOwner) this.#serve()
    } catch {
      // Callers that wait get the same error, and report it.
    }
    this.chunks.notifyAll()
    this.statuses.notifyAll()
  }
}
