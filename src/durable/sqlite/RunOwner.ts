import { stat } from 'node:fs/promises'
import type { AgentCommand } from '../../../machines/agent/events.ts'
import { stableJson } from '../../messages/json.ts'
import { checkStoredCommand, RunOver } from '../commands.ts'
import { type Agents, unknownRun } from '../runOptions.ts'
import type { Delivery, RunInfo, RunsHealth } from '../runs.ts'
import { isAtEnd } from '../snapshots.ts'
import { checkTaskCommand } from '../tasks.ts'
import { earliest } from './CommandRows.ts'
import type { HostedRun } from './HostedRun.ts'
import { HostedRuns } from './HostedRuns.ts'
import { agentsOfOwner, hasOwner, LostOwnership, Ownership } from './Ownership.ts'
import type { OwnerOptions, RunRequest } from './ownerOptions.ts'
import { pack, packedSnapshotOf } from './pack.ts'
import { Poll, RunSignal } from './RunSignal.ts'
import { type Checkpoint, infoOf, type NewRun, notStarted, type RunSummary } from './runRow.ts'
import { findTask } from './SqliteTask.ts'
import type { OpenStore } from './sqlite.ts'
import { whenFree } from './whenFree.ts'

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
  readonly #hosted: HostedRuns
  readonly #poll = new Poll(() => this.#look(), pollMs)
  #polls = 0
  #version: number
  #isClosing = false

  constructor(store: OpenStore, options: OwnerOptions) {
    this.store = store
    this.#options = options
    this.#ownership = this.isGuest ? undefined : new Ownership(store.file, store.openDriver)
    this.chunks = new RunSignal(this.#poll.hold)
    this.statuses = new RunSignal(this.#poll.hold)
    this.#hosted = new HostedRuns({
      store,
      options,
      isOwner: () => this.isOwner,
      checkOwner: this.#checkOwner,
      onLost: () => this.#lose(),
      onChange: (n, isStatus) => {
        this.chunks.notify(n)
        if (isStatus) this.statuses.notify(n)
      },
    })
    this.#version = store.file.dataVersion()
  }

  /** Becomes the owner if no other process is it, and continues what was running. */
  open(): void {
    if (this.isOwner || this.#takeOver()) this.#hosted.serve()
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

  /** The error for callers that wait for a run here which does not continue by itself. */
  failureOf({ n, agent }: RunSummary): Error | undefined {
    const failure = this.#hosted.failureOf(n)
    if (failure && !failure.isTemporary) return failure.error
    const { agents } = this
    return this.isOwner && !agents.find(agent) ? agents.missing(agent) : undefined
  }

  /** The public data of runs, with why those that should continue do not. */
  infosOf(runs: readonly RunSummary[]): RunInfo[] {
    // Looked up once, and only if a run of the list needs it.
    let names: { known: readonly string[] | undefined } | undefined
    const isAbsent = (agent: string) => {
      names ??= { known: this.#agentsOfOwner() }
      return names.known !== undefined && !names.known.includes(agent)
    }
    return runs.map((run) => {
      if (run.status !== 'running' && run.status !== 'waiting') return infoOf(run)
      const failure = this.#hosted.failureOf(run.n)?.error.message ?? run.blocked
      const absent = isAbsent(run.agent)
        ? `The process that runs the agents has no agent "${run.agent}".`
        : undefined
      const blocked = failure ?? absent
      return { ...infoOf(run), ...(blocked !== undefined && { blocked }) }
    })
  }

  /** Stores a new run; the owner of the store starts it. */
  begin(run: RunRequest): void {
    if (!this.isGuest) this.agents.get(run.agent)
    const { store } = this
    const { input, base, inSameWrite } = run
    const items = store.items.inherit(base)
    const insert = (checkpoint: Checkpoint): number => {
      const n = store.runs.insert({ ...run, ...checkpoint }, Date.now())
      inSameWrite?.(n)
      return n
    }
    if (this.isGuest || !this.isOwner || !this.#hosted.hasRoom) {
      const checkpoint = { ...notStarted, packedSnapshot: pack({ input }, items) }
      store.file.write(store.synchronous, () => store.items.insert(insert(checkpoint), items.fresh))
      return
    }
    this.#unlessLost(
      () => this.#hosted.begin(run, insert, items),
      () => this.begin(run),
    )
  }

  /** Stores a run that continues from the state of another one. */
  adopt(run: NewRun): void {
    if (!this.isGuest) this.agents.get(run.agent)
    const { file, runs, synchronous } = this.store
    file.write(synchronous, () => void runs.insert(run, Date.now()))
    this.#serve()
  }

  /** Stops a run that is about to be deleted. */
  drop(n: number): void {
    this.#hosted.drop(n)
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

  /**
   * Sends a command to a run. It is stored when this returns, also if this process runs the agents: two processes may
   * decide on a call at the same moment, and the first one that is stored counts. So it is judged in the transaction that
   * stores it; what is returned says whether the run has it by now. One that carries an id counts once, and one with a due time from then on.
   */
  send(id: string, given: unknown, commandId: string | undefined, due?: number): Delivery {
    const { file, runs, commands, synchronous } = this.store
    const run = runs.summary(id) ?? findTask(this.store, id)?.run
    if (!run) throw unknownRun(id)
    if (this.isOwner && !this.agents.find(run.agent)) throw this.agents.missing(run.agent)
    const ofRun = due === undefined ? given : [given, due]
    const request = id === run.id ? ofRun : [id, ofRun]
    const store = (): unknown => {
      if (commandId !== undefined && commands.isTaken(run.n, commandId, request)) return given
      const now = runs.summary(run.id)
      // It may have been deleted since, and its id given to another run.
      if (now?.n !== run.n) throw unknownRun(id)
      const command = this.#checked(now, id, given)
      commands.insert(run.n, command, due)
      if (commandId !== undefined) commands.take(run.n, commandId, request)
      return command
    }
    let sent: unknown
    try {
      sent = file.write(synchronous, store)
    } catch (thrown) {
      if (thrown instanceof RunOver && Object(given).type === 'message') return 'refused'
      throw thrown
    }
    // What was in the way of the run may be gone. Not before: a send that fails must not end the tries of the run.
    this.#hosted.retry(run.n)
    this.#serve()
    return Object(given).when === 'idle' || this.#isUnread(run.n, sent) ? 'queued' : 'delivered'
  }

  /** The state of the store and of this process. */
  async health(): Promise<RunsHealth> {
    const { file, runs, commands } = this.store
    const now = Date.now()
    const { running, waiting, oldest, unread, dueSince, owner } = await whenFree(() => ({
      ...runs.counts(),
      unread: commands.unread(now),
      dueSince: runs.dueSince(now),
      owner: this.isOwner ? ('this' as const) : this.hasOwner ? ('other' as const) : ('none' as const),
    }))
    const since = earliest([unread.since, dueSince])
    const sizes = await Promise.all(
      ['', '-wal'].map((end) =>
        stat(file.path + end).then(
          ({ size }) => size,
          () => 0,
        ),
      ),
    )
    return {
      owner,
      running,
      waiting,
      hosted: this.#hosted.size,
      ...(oldest !== undefined && { oldest: new Date(oldest) }),
      unreadCommands: unread.count,
      // A clock may have been set back.
      lag: since === undefined ? 0 : Math.max(0, now - since),
      bytes: sizes.reduce((sum, size) => sum + size, 0),
    }
  }

  /** Stops the runs of this process: tools that are running get some time to end. */
  async close(drainMs: number): Promise<void> {
    this.#isClosing = true
    await this.#hosted.drain(drainMs)
    this.#poll.stop()
    this.#ownership?.release()
    this.store.file.close()
    this.chunks.notifyAll()
    this.statuses.notifyAll()
  }

  /** Checks a command for a run, or for the task of it that has this id. */
  #checked(run: RunSummary, id: string, given: unknown): AgentCommand {
    const { commands, runs } = this.store
    const enqueued = commands.of(run.n).map(({ command }) => command)
    if (id !== run.id) {
      const found = findTask(this.store, id)
      if (found?.run.n !== run.n) throw unknownRun(id)
      return checkTaskCommand(given, found.task, enqueued)
    }
    const command = checkStoredCommand(given, run, enqueued)
    // Its process died between the end of the last run that it is made of and its own: it takes no more commands.
    if (!['steer', 'wake', 'message'].includes(command.type)) return command
    if (isAtEnd(packedSnapshotOf(runs.byNumber(run.n)?.packedSnapshot ?? '{}')))
      throw new RunOver(`The run "${run.id}" is about to end, and can no longer be steered.`)
    return command
  }

  /** Says whether a command waits for its run. It is stored: if that cannot be read now, sending it has not failed. */
  #isUnread(n: number, sent: unknown): boolean {
    try {
      return this.store.commands.of(n).some(({ command }) => stableJson(command) === stableJson(sent))
    } catch {
      return true
    }
  }

  /** The agents that can run now; undefined if no process runs any. */
  #agentsOfOwner(): readonly string[] | undefined {
    if (this.isOwner) return this.agents.names
    return this.hasOwner ? agentsOfOwner(this.store.file) : undefined
  }

  #serve(): void {
    if (this.isOwner) this.#hosted.serveOrLater()
  }

  /** Tries to become the owner, and says whether this process is it now. */
  #takeOver(): boolean {
    return this.#ownership?.take(this.agents.names) ?? false
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
    this.#hosted.stopAll()
  }

  readonly #checkOwner = (): void => this.#ownership?.check()

  #look(): void {
    try {
      this.#polls += 1
      const mayTake = !this.isOwner && !this.#isClosing && this.#polls % takeOverPolls === 0
      const isNew = mayTake && this.#takeOver()
      const version = this.store.file.dataVersion()
      if (version === this.#version && !isNew) return
      this.#version = version
      if (this.isOwner) this.#unlessLost(this.#checkOwner, () => {})
      this.#serve()
    } catch {
      // Callers that wait get the same error, and report it.
    }
    this.chunks.notifyAll()
    this.statuses.notifyAll()
  }
}
