import { setTimeout as pause } from 'node:timers/promises'
import { OrchestrationError } from '../../messages/errors.ts'
import type { ToolResultPart } from '../../messages/messages.ts'
import { withoutDecisions } from '../commands.ts'
import type { RunStatus } from '../runs.ts'
import { ChunkLog, type StreamTail } from './ChunkLog.ts'
import type { Items } from './Items.ts'
import { LostOwnership } from './Ownership.ts'
import { type Checkpoint, notStarted } from './runRow.ts'
import { type Synchronous, shortWaitMs } from './SqliteFile.ts'
import type { OpenStore } from './sqlite.ts'

type Status = Pick<Checkpoint, 'status' | 'isUnsettled' | 'due'>

/** Results of calls by their idempotency keys. */
export type Results = ReadonlyMap<string, ToolResultPart>

/** The place of a run in a store. */
export type RunPlace = {
  id: string
  store: OpenStore
  items: Items
  tail: StreamTail
  incarnation: number
  /** Restarts without progress: with this one, and without it, as they count if the run is stopped in good order. */
  recoveries: number
  released: number
  /** The row of the run; undefined for one that is not stored yet. */
  stored: ({ n: number; packedSnapshot: string } & Status) | undefined
  /** Stores a new run, and returns its number. */
  insert?(checkpoint: Checkpoint): number
  /** Throws inside a transaction if another process runs the agents now. */
  checkOwner(): void
}

/**
 * A run ended while a command of another process, already acknowledged, was still waiting for it: the end does not
 * count, and the run continues from the step before it.
 */
export class UnseenCommand extends Error {}

/** Time that a write waits for others while a tool is running: if it fails, the call is in doubt. */
const longWaitMs = 2500

/** Times between two looks at a store that cannot be written. */
const firstPauseMs = 10
const longestPauseMs = 1000

/** The writes of a run that is under way. Each is one transaction, with everything that is not stored yet. */
export class RunWriter {
  readonly log: ChunkLog
  readonly #place: RunPlace
  #number: number | undefined
  #packedSnapshot: string
  #status: Status
  /** Changes that go into the next transaction. */
  #due: (() => void)[] = []
  /** The store says that this incarnation has begun. */
  #hasBegun = false
  #obstacle: Error | undefined

  constructor(place: RunPlace) {
    const { items, tail, incarnation, stored } = place
    this.#place = place
    this.#number = stored?.n
    this.#packedSnapshot = stored?.packedSnapshot ?? ''
    const { status, isUnsettled, due } = stored ?? notStarted
    this.#status = { status, isUnsettled, due }
    this.log = new ChunkLog(items, tail, incarnation)
  }

  /** The number of the run's row, once it is stored. */
  get number(): number | undefined {
    return this.#number
  }

  get status(): RunStatus {
    return this.#status.status
  }

  /** Says whether readers must still be shown the status. */
  get isUnsettled(): boolean {
    return this.#status.isUnsettled
  }

  /** The time at which a run that waits continues by itself. */
  get due(): number | undefined {
    return this.#status.due
  }

  get hasDue(): boolean {
    return this.#due.length > 0
  }

  /** The reason why the run waits for the store. */
  get obstacle(): Error | undefined {
    return this.#obstacle
  }

  /** Says whether the store can be written now. */
  checkWritable(): boolean {
    this.#obstacle = this.#place.store.file.obstacle()
    return !this.#obstacle
  }

  /** Waits until the store can be written, or the run is over. Other work of the process goes on meanwhile. */
  async whenWritable(isOver: () => boolean): Promise<void> {
    for (let pauseMs = firstPauseMs; !isOver(); pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      if (this.checkWritable()) return
      await pause(pauseMs)
    }
  }

  /** Adds a change to the next transaction of the run. */
  inNextWrite(write: () => void): void {
    this.#due.push(write)
  }

  /** Leaves out what was to go with the next transaction. */
  dropDue(): void {
    this.#due = []
  }

  isStored({ packedSnapshot, status }: Checkpoint): boolean {
    return packedSnapshot === this.#packedSnapshot && status === this.#status.status
  }

  /**
   * Stores a step. One that ends the run must have seen every command: it takes no more of them. `hadTools`: tools were
   * running before it.
   */
  storeStep(checkpoint: Checkpoint, { isEnd, hadTools }: { isEnd: boolean; hadTools: boolean }): void {
    const { synchronous } = this.#place.store
    this.#write(synchronous, () => this.#store(checkpoint), isEnd, hadTools ? longWaitMs : shortWaitMs)
    this.#packedSnapshot = checkpoint.packedSnapshot
  }

  /**
   * Stores what is shown. A message is on the disk before a reader gets its cursor: text may start over after a power
   * failure, but a message comes once.
   */
  storeShown(hasTools: boolean): void {
    const n = this.#number ?? 0
    const synchronous = this.log.mustStore ? this.#place.store.synchronous : 'normal'
    this.#write(synchronous, () => n, false, hasTools ? longWaitMs : shortWaitMs)
  }

  /** Stores that the run waits or is over, and that its readers know. */
  storeStatus(status: RunStatus): void {
    const n = this.#number ?? 0
    this.#write(this.#place.store.synchronous, () =>
      this.#setStatus(n, { ...this.#status, status, isUnsettled: false }),
    )
  }

  /** Stores what was shown, and that the run was stopped in good order. */
  release(): void {
    const { store, released } = this.#place
    const n = this.#number
    if (n === undefined) return
    this.inNextWrite(() => store.runs.release(n, released))
    this.storeShown(true)
  }

  #store(checkpoint: Checkpoint): number {
    const { store, insert, incarnation } = this.#place
    const { status, isUnsettled, due } = checkpoint
    if (this.#number === undefined && insert) {
      this.#status = { status, isUnsettled, due }
      return insert(checkpoint)
    }
    const n = this.#number ?? 0
    if (!store.runs.update(n, incarnation, checkpoint, Date.now())) throw new LostOwnership()
    return this.#setStatus(n, { status, isUnsettled, due })
  }

  #setStatus(n: number, to: Status): number {
    const { status, isUnsettled, due } = this.#status
    if (to.status !== status || to.isUnsettled !== isUnsettled || to.due !== due)
      this.#place.store.runs.setStatus(n, to)
    this.#status = to
    return n
  }

  /** Refuses a write if the run is no longer this process's, and begins the incarnation with the first one. */
  #checkIncarnation(): void {
    const { id, store, incarnation, recoveries, checkOwner } = this.#place
    checkOwner()
    const n = this.#number
    if (n === undefined) return
    const known = store.runs.incarnation(n)
    if (known === undefined) throw new OrchestrationError(`The run "${id}" was deleted while it was running.`)
    const holds = this.#hasBegun
      ? known === incarnation
      : store.runs.beginIncarnation(n, incarnation, recoveries)
    if (!holds) throw new LostOwnership()
  }

  /**
   * Makes one transaction of everything that is not stored yet. `change` returns the number of the run. The first one
   * of an incarnation waits for the disk: after a power failure, the incarnation before must not be the current one.
   */
  #write(synchronous: Synchronous, change: () => number, isEnd = false, waitMs = shortWaitMs): void {
    const { store, items } = this.#place
    const status = this.#status
    const write = () => {
      this.#checkIncarnation()
      const n = change()
      for (const each of this.#due) each()
      // Once this is stored, the run takes no more commands: those that are already waiting come first. A decision has nothing left
      // to decide on.
      if (isEnd && withoutDecisions(store.commands.of(n)).length > 0) throw new UnseenCommand()
      store.items.insert(n, items.fresh)
      this.log.writeTo(store.stream, n)
      return n
    }
    try {
      this.#number = store.file.write(this.#hasBegun ? synchronous : 'full', write, waitMs)
    } catch (thrown) {
      this.#status = status
      throw thrown
    }
    this.#hasBegun = true
    this.#due = []
    items.stored()
    this.log.stored()
  }
}
