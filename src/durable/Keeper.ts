import type { AgentCommand, AgentInput } from '../../machines/agent/events.ts'
import type { AnyAgent } from '../agent/Agent.ts'
import { checkCommand } from '../agent/commands.ts'
import { ConfigurationError, type ErrorData, errorDataOf } from '../messages/errors.ts'
import type { Agents } from './Agents.ts'
import { checkStored, isUseful } from './checkCommand.ts'
import { giveUp, tellReaders } from './closeRun.ts'
import { LiveRun, UnheardCommand } from './LiveRun.ts'
import { Poll } from './Poll.ts'
import { missingChunks } from './runChunks.ts'
import type { RunInfo } from './runs.ts'
import { hostedFrom } from './sqlite/head.ts'
import { hasOwner, Ownership } from './sqlite/Ownership.ts'
import { pack } from './sqlite/pack.ts'
import {
  infoOf,
  type NewRun,
  notBegun,
  type Progress,
  type RunRow,
  type RunSummary,
} from './sqlite/RunRows.ts'
import type { OpenStore } from './sqlite/sqlite.ts'
import { DamagedData } from './sqlite/storeError.ts'
import { Watch } from './Watch.ts'

/** What {@link Keeper} goes by. */
export type KeeperOptions = {
  agents: Agents
  maxRecoveries: number
  /** Makes what the tools get from what was stored. */
  context: (stored: unknown, info: RunInfo) => unknown
}

/** A run that is to begin. */
export type Beginning = Pick<NewRun, 'id' | 'agent' | 'prompt' | 'context'> &
  Partial<Pick<NewRun, 'forkedFrom' | 'base'>> & {
    input: AgentInput
    /** Belongs into the transaction that stores it. */
    alongside?: (n: number) => void
  }

/** How often a process looks for what others have written, and whether it must take over. */
const pollMs = 20
const takeOverPolls = 12

/** Runs the agents of a store while this process owns it; otherwise waits for its turn. */
export class Keeper {
  readonly store: OpenStore
  /** Called when a run has new chunks or a new status. */
  readonly chunks: Watch
  readonly stands: Watch
  readonly #options: KeeperOptions
  /** A guest has none: it can run nothing, and leaves the store to those that can. */
  readonly #ownership: Ownership | undefined
  readonly #live = new Map<number, LiveRun>()
  /** Runs that stopped in this process, because the store failed. */
  readonly #failures = new Map<number, Error>()
  readonly #poll = new Poll(() => this.#look(), pollMs)
  #polls = 0
  #version: number

  constructor(store: OpenStore, options: KeeperOptions) {
    this.store = store
    this.#options = options
    this.#ownership = options.agents.areNone ? undefined : new Ownership(store.file.path, store.openDriver)
    this.chunks = new Watch(this.#poll.hold)
    this.stands = new Watch(this.#poll.hold)
    this.#version = store.file.dataVersion()
    if (this.#ownership?.take()) this.#serve()
  }

  get agents(): Agents {
    return this.#options.agents
  }

  /** Whether this process runs things. */
  get isOwner(): boolean {
    return this.#ownership?.isHeld ?? false
  }

  /** Whether it never does. */
  get isGuest(): boolean {
    return this.agents.areNone
  }

  /** Whether any process does, here or elsewhere. */
  get hasOwner(): boolean {
    return this.isOwner || hasOwner(this.store.file.path, this.store.openDriver)
  }

  live(n: number): LiveRun | undefined {
    return this.#live.get(n)
  }

  /** Why a run stopped here, although it should continue. */
  whyNot({ n, agent }: RunSummary): Error | undefined {
    const failure = this.#failures.get(n)
    if (failure) return failure
    const { agents } = this
    return this.isOwner && !agents.find(agent) ? agents.missing(agent) : undefined
  }

  /** Stores a new run; the owner of the store starts it. */
  begin(run: Beginning): void {
    const agent = this.#leftTo(run.agent)
    const { store } = this
    const { id, input, base, forkedFrom, alongside } = run
    const items = store.items.inherit(base)
    const insert = (progress: Progress): number => {
      const n = store.runs.insert({ ...run, ...progress, base, forkedFrom }, Date.now())
      alongside?.(n)
      return n
    }
    if (!agent || !this.isOwner) {
      const progress = { ...notBegun, head: pack({ input }, items) }
      store.file.write(store.synchronous, () => store.items.insert(insert(progress), items.fresh))
      return
    }
    const now = Date.now()
    const info = infoOf({ ...run, ...notBegun, base, forkedFrom, n: 0, life: 0, created: now, updated: now })
    const stored: unknown = run.context === undefined ? undefined : JSON.parse(run.context)
    const live = new LiveRun({
      ...this.#listeners,
      id,
      store,
      agent,
      from: { input },
      items,
      context: this.#options.context(stored, info),
      tail: { seq: 0, life: 0, told: 0, isOpen: false },
      life: 1,
      recoveries: 0,
      hidden: 0,
      stored: undefined,
      insert: (progress) => {
        const n = insert(progress)
        store.runs.takeUp(n, 1, 0)
        return n
      },
    })
    live.start()
  }

  /** Stores a run that continues from the state of another one. */
  adopt(run: NewRun): void {
    this.#leftTo(run.agent)
    const { file, runs, synchronous } = this.store
    file.write(synchronous, () => void runs.insert(run, Date.now()))
    if (this.isOwner) this.#serve()
  }

  /** Stops a run that is about to be deleted. */
  drop(n: number): void {
    this.#live.get(n)?.leave()
    this.#failures.delete(n)
  }

  /** Stops a run as if its process had died, and continues it from what is stored. False if it does not run here. */
  restart(id: string): boolean {
    const n = this.store.runs.summary(id)?.n
    const live = n === undefined ? undefined : this.#live.get(n)
    if (!live) return false
    // Readers in this process stay: what they have seen must be there when the run continues.
    live.flush()
    live.leave()
    this.#serve()
    return true
  }

  /** Sends a command to a run. It is stored when this returns. */
  send(id: string, given: unknown): void {
    const run = this.store.runs.summary(id)
    if (!run) throw new ConfigurationError(`There is no run "${id}".`)
    // The store may work again: a run can continue from what it has.
    this.#failures.delete(run.n)
    const reason = this.whyNot(run)
    if (reason) throw reason
    const live = this.#live.get(run.n)
    if (live) live.send(checkCommand(given, live.pending))
    else if (this.isOwner && run.status === 'waiting')
      this.#decide(run.n, checkStored(this.store, run, given))
    else this.#leaveWord(run, given)
  }

  /** For the process that runs the agents. */
  #leaveWord(run: RunSummary, given: unknown): void {
    const { file, runs, commands, synchronous } = this.store
    file.write(synchronous, () =>
      commands.insert(run.n, checkStored(this.store, runs.summary(run.id) ?? run, given)),
    )
    if (this.isOwner) this.#serve()
  }

  close(): void {
    this.#poll.stop()
    for (const run of [...this.#live.values()]) {
      run.flush()
      run.leave()
    }
    this.#ownership?.release()
    this.store.file.close()
    this.chunks.tellAll()
    this.stands.tellAll()
  }

  /** Continues a run that waits. */
  #decide(n: number, command: AgentCommand, alongside: () => void = () => {}): void {
    const row = this.store.runs.byNumber(n)
    const live = this.#live.get(n) ?? (row && this.#takeUp(row))
    if (!live) {
      alongside()
      return
    }
    live.alongside(alongside)
    live.send(command)
  }

  /** Continues every run that must continue: after a crash, or because another process asked for it. */
  #serve(): void {
    for (const { n, agent } of this.store.runs.live()) {
      if (this.#live.has(n) || this.#failures.has(n) || !this.agents.find(agent)) continue
      this.#guarded(n, () => {
        const row = this.store.runs.byNumber(n)
        if (row) this.#recover(row)
      })
    }
    for (const { n, run, command } of this.store.commands.all())
      if (!this.#failures.has(run)) this.#guarded(run, () => this.#obey(n, run, command))
  }

  #obey(n: number, run: number, command: AgentCommand): void {
    const { file, runs, commands, synchronous } = this.store
    const forget = () => commands.delete(n)
    const row = runs.byNumber(run)
    if (row && !this.agents.find(row.agent)) return
    const isOpen = row?.status === 'running' || row?.status === 'waiting'
    const pending = this.#live.get(run)?.pending ?? row?.pending ?? []
    if (isOpen && isUseful(command, pending)) this.#decide(run, command, forget)
    else file.write(synchronous, forget)
  }

  #recover(row: RunRow): void {
    const { id, status, life, recoveries } = row
    if (status !== 'running') {
      tellReaders(this.store, row)
      this.#tell(row.n)
    } else if (life > 0 && recoveries >= this.#options.maxRecoveries)
      this.#giveUp(row, {
        name: 'OrchestrationError',
        message: `The run "${id}" was abandoned: it was started again ${recoveries} times and made no progress. What ended its process did so each time; fork it to try once more.`,
      })
    else this.#takeUp(row)
  }

  /** Continues a stored run; one that cannot continue is abandoned. */
  #takeUp(row: RunRow): LiveRun | undefined {
    const { id, n, head, status, hidden, live: isLive } = row
    const agent = this.agents.get(row.agent)
    const { store } = this
    const context = this.#options.context(store.runs.context(n), infoOf(row))
    const stored = { n, head, status, live: isLive }
    const tail = store.stream.tail(n)
    // The first life of a run that another process has stored is none after a crash.
    const recoveries = status === 'running' && row.life > 0 ? row.recoveries + 1 : row.recoveries
    const life = row.life + 1
    try {
      const items = store.items.load(n, row.base)
      const from = hostedFrom(head, items)
      const setup = { id, store, agent, from, context, items, tail, life, recoveries, hidden, stored }
      const live = new LiveRun({ ...this.#listeners, ...setup })
      if (live.refusal) return this.#giveUp(row, live.refusal)
      live.alongside(() => store.runs.takeUp(n, life, recoveries))
      this.#live.set(n, live)
      if (status === 'running') {
        if ('snapshot' in from) live.show(missingChunks({ ...row, snapshot: from.snapshot }, tail))
        live.flush()
      }
      live.start()
      return live
    } catch (thrown) {
      if (thrown instanceof DamagedData) return this.#giveUp(row, errorDataOf(thrown))
      throw thrown
    }
  }

  #giveUp(row: RunRow, error: ErrorData): undefined {
    giveUp(this.store, row, error)
    this.#tell(row.n)
  }

  #tell(n: number): void {
    this.chunks.tell(n)
    this.stands.tell(n)
  }

  /** What goes wrong with one run is none of the others' business. */
  #guarded(n: number, attempt: () => void): void {
    try {
      attempt()
    } catch (thrown) {
      this.#failures.set(n, thrown instanceof Error ? thrown : new Error(String(thrown)))
      this.stands.tell(n)
    }
  }

  readonly #listeners = {
    onNews: (run: LiveRun, isStand: boolean): void => {
      const { number } = run
      if (number === undefined) return
      this.#live.set(number, run)
      this.chunks.tell(number)
      if (isStand) this.stands.tell(number)
    },
    onEnd: ({ number, failure }: LiveRun): void => {
      if (number === undefined) return
      this.#live.delete(number)
      if (failure instanceof UnheardCommand) {
        if (this.isOwner) this.#serve()
        return
      }
      if (failure) this.#failures.set(number, failure)
      this.#tell(number)
    },
  }

  /** The agent of a new run; without agents, the owner of the store knows it. */
  #leftTo(name: string): AnyAgent | undefined {
    return this.isGuest ? undefined : this.agents.get(name)
  }

  #look(): void {
    try {
      this.#polls += 1
      const isNew = !this.isOwner && this.#polls % takeOverPolls === 0 && this.#ownership?.take()
      const version = this.store.file.dataVersion()
      if (version === this.#version && !isNew) return
      this.#version = version
      if (this.isOwner) this.#serve()
    } catch {
      // Callers that wait get the same error, and report it.
    }
    this.chunks.tellAll()
    this.stands.tellAll()
  }
}
