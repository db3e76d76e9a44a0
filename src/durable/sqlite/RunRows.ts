import type { AgentCommand } from '../../../machines/agent/events.ts'
import { stateName } from '../../../machines/agent/states.ts'
import { storedCommand } from '../../agent/commands.ts'
import type { ErrorData } from '../../messages/errors.ts'
import { isJsonObject } from '../../messages/json.ts'
import type { PendingCall, Usage } from '../../messages/result.ts'
import { isRunStatus, type RunInfo, type RunStatus } from '../runs.ts'
import { type Base, baseIn } from './Items.ts'
import { damaged, jsonIn, numberIn, type Row, type SqliteFile, textIn } from './SqliteFile.ts'

/** The part of a run's row that each step writes. */
export type Checkpoint = {
  status: RunStatus
  /** A process must continue the run, or show its readers its status. */
  isUnsettled: boolean
  recoveries: number
  /** Messages that its chart did not show. */
  hidden: number
  step: number
  state: string
  usage: Usage | undefined
  pending: readonly PendingCall[]
  error: ErrorData | undefined
  /** The packed `{ input }` or `{ snapshot }` that the run continues from. */
  packedSnapshot: string
}

/** The state of a run that has not started. */
export const notStarted: Omit<Checkpoint, 'packedSnapshot'> = {
  status: 'running',
  isUnsettled: true,
  recoveries: 0,
  hidden: 0,
  step: 0,
  state: '',
  usage: undefined,
  pending: [],
  error: undefined,
}

/** A run that is to be stored. */
export type NewRun = Checkpoint & {
  id: string
  agent: string
  prompt: string
  forkedFrom: string | undefined
  base: Base | undefined
  /** The `context` of the tools, as JSON; undefined if they get none. */
  context: string | undefined
}

/** A run as it is stored; `n` is its number in the file. */
export type RunRow = Omit<NewRun, 'context'> & {
  n: number
  /** Processes, or restarts, that have worked on the run. A cursor of an earlier one may point at lost text. */
  incarnation: number
  created: number
  updated: number
}

/** A run without its snapshot, as lists need it. */
export type RunSummary = Omit<RunRow, 'packedSnapshot'>

const summary = `n, id, agent, status, live, life, recoveries, hidden, step, state, created, updated, prompt, forked_from, base,
  counts, usage, pending, error`

/** The table of runs. */
export class RunRows {
  readonly #file: SqliteFile

  constructor(file: SqliteFile) {
    this.#file = file
  }

  get(id: string): RunRow | undefined {
    const row = this.#file.get('SELECT * FROM runs WHERE id = ?', id)
    return row && { ...summaryOf(row), packedSnapshot: textIn(row, 'head') }
  }

  byNumber(n: number): RunRow | undefined {
    const row = this.#file.get('SELECT * FROM runs WHERE n = ? AND id IS NOT NULL', n)
    return row && { ...summaryOf(row), packedSnapshot: textIn(row, 'head') }
  }

  summary(id: string): RunSummary | undefined {
    const row = this.#file.get(`SELECT ${summary} FROM runs WHERE id = ?`, id)
    return row && summaryOf(row)
  }

  /** Lists the newest first, of the runs that are older than number `before`. */
  list(before: number, limit: number, status: string | null, agent: string | null): RunSummary[] {
    const rows = this.#file.all(
      `SELECT ${summary} FROM runs WHERE n < ? AND id IS NOT NULL AND status = coalesce(?, status)
       AND agent = coalesce(?, agent) ORDER BY n DESC LIMIT ?`,
      before,
      status,
      agent,
      limit,
    )
    return rows.map(summaryOf)
  }

  /** Lists the runs that a process must take care of, the oldest first. */
  unsettled(): { n: number; id: string; agent: string }[] {
    const rows = this.#file.all('SELECT n, id, agent FROM runs WHERE live = 1 AND id IS NOT NULL ORDER BY n')
    return rows.map((row) => ({ n: numberIn(row, 'n'), id: textIn(row, 'id'), agent: textIn(row, 'agent') }))
  }

  /** Stores a run, and returns its number in the file. */
  insert(run: NewRun, now: number): number {
    this.#file.run(
      `INSERT INTO runs (id, agent, status, live, life, recoveries, hidden, step, state, created, updated, prompt,
       forked_from, base, counts, usage, pending, error, head)
       VALUES (?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      run.id,
      run.agent,
      run.status,
      run.isUnsettled ? 1 : 0,
      run.recoveries,
      run.hidden,
      run.step,
      run.state,
      now,
      now,
      run.prompt,
      run.forkedFrom ?? null,
      run.base?.run ?? null,
      run.base ? JSON.stringify(run.base.counts) : null,
      jsonOf(run.usage),
      jsonOf(run.pending.length > 0 ? run.pending : undefined),
      jsonOf(run.error),
      run.packedSnapshot,
    )
    const n = numberIn(this.#file.get('SELECT n FROM runs WHERE id = ?', run.id) ?? {}, 'n')
    if (run.context !== undefined)
      this.#file.run('INSERT INTO contexts (run, data) VALUES (?, ?)', n, run.context)
    return n
  }

  /** Writes a checkpoint of an incarnation; false if the run has been deleted, or another one has begun. */
  update(n: number, incarnation: number, to: Checkpoint, now: number): boolean {
    const changes = this.#file.run(
      `UPDATE runs SET recoveries = ?, hidden = ?, step = ?, state = ?, updated = ?, usage = ?, pending = ?, error = ?, head = ?
       WHERE n = ? AND life = ? AND id IS NOT NULL`,
      to.recoveries,
      to.hidden,
      to.step,
      to.state,
      now,
      jsonOf(to.usage),
      jsonOf(to.pending.length > 0 ? to.pending : undefined),
      jsonOf(to.error),
      to.packedSnapshot,
      n,
      incarnation,
    )
    return changes > 0
  }

  /** The incarnation that may write; undefined if the run has been deleted. */
  incarnation(n: number): number | undefined {
    const row = this.#file.get('SELECT life FROM runs WHERE n = ? AND id IS NOT NULL', n)
    return row && numberIn(row, 'life')
  }

  /** Separate from `update`, because a write to `live` touches an index. */
  setStatus(n: number, status: RunStatus, isUnsettled: boolean): void {
    this.#file.run('UPDATE runs SET status = ?, live = ? WHERE n = ?', status, isUnsettled ? 1 : 0, n)
  }

  /**
   * Notes that another process, or the same one after a failure, begins to work on the run. False if another one has
   * begun since the run was read.
   */
  beginIncarnation(n: number, incarnation: number, recoveries: number): boolean {
    const changes = this.#file.run(
      'UPDATE runs SET life = ?, recoveries = ? WHERE n = ? AND life = ? AND id IS NOT NULL',
      incarnation,
      recoveries,
      n,
      incarnation - 1,
    )
    return changes > 0
  }

  /** Notes the error of a chart that broke. The snapshot of its last step stays. */
  fail(n: number, error: ErrorData, now: number): void {
    this.#file.run('UPDATE runs SET error = ?, updated = ? WHERE n = ?', JSON.stringify(error), now, n)
  }

  abandon(n: number, error: ErrorData, now: number): void {
    this.#file.run(
      `UPDATE runs SET status = 'abandoned', live = 0, error = ?, updated = ? WHERE n = ?`,
      JSON.stringify(error),
      now,
      n,
    )
  }

  /** The `context` of a run's tools, as it was stored. */
  context(n: number): unknown {
    const row = this.#file.get('SELECT data FROM contexts WHERE run = ?', n)
    return row && jsonIn(row, 'data')
  }
}

/** The public data of a run. */
export const infoOf = (run: RunSummary): RunInfo => ({
  id: run.id,
  agent: run.agent,
  status: run.status,
  // Rows of older releases hold the path of the innermost state.
  state: stateName(run.state),
  prompt: run.prompt,
  step: run.step,
  pending: [...run.pending],
  ...(run.usage && { usage: run.usage }),
  ...(run.error && { error: run.error }),
  createdAt: new Date(run.created),
  updatedAt: new Date(run.updated),
  recoveries: run.recoveries,
  ...(run.forkedFrom !== undefined && { forkedFrom: run.forkedFrom }),
})

const jsonOf = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value))

const summaryOf = (row: Row): RunSummary => {
  const status = row.status
  if (!isRunStatus(status)) throw damaged(`a run has the status ${String(status)}`)
  return {
    n: numberIn(row, 'n'),
    id: textIn(row, 'id'),
    agent: textIn(row, 'agent'),
    status,
    isUnsettled: numberIn(row, 'live') === 1,
    incarnation: numberIn(row, 'life'),
    recoveries: numberIn(row, 'recoveries'),
    hidden: numberIn(row, 'hidden'),
    step: numberIn(row, 'step'),
    state: textIn(row, 'state'),
    created: numberIn(row, 'created'),
    updated: numberIn(row, 'updated'),
    prompt: textIn(row, 'prompt'),
    forkedFrom: row.forked_from === null ? undefined : textIn(row, 'forked_from'),
    base: row.base === null ? undefined : baseIn(row),
    usage: jsonIn(row, 'usage') as Usage | undefined,
    pending: pendingIn(row),
    error: errorIn(row),
  }
}

const pendingIn = (row: Row): PendingCall[] => {
  const pending = jsonIn(row, 'pending') ?? []
  const isCall = (each: unknown) => isJsonObject(each) && typeof each.id === 'string'
  if (!Array.isArray(pending) || !pending.every(isCall)) throw damaged('the calls of a run are not a list')
  return pending
}

const errorIn = (row: Row): ErrorData | undefined => {
  const error = jsonIn(row, 'error')
  if (error === undefined) return undefined
  if (!isJsonObject(error) || typeof error.message !== 'string')
    throw damaged('the error of a run is not an error')
  return error as ErrorData
}

/** A command that waits for the process that runs the agents; `n` is its number in the file. */
export type StoredCommand = { n: number; run: number; command: AgentCommand }

/** The table of commands: an inbox for the process that owns the runs, which other processes write to. */
export class CommandRows {
  readonly #file: SqliteFile

  constructor(file: SqliteFile) {
    this.#file = file
  }

  insert(run: number, command: AgentCommand): void {
    this.#file.run('INSERT INTO commands (run, data) VALUES (?, ?)', run, JSON.stringify(command))
  }

  all(): StoredCommand[] {
    return this.#file.all('SELECT n, run, data FROM commands ORDER BY n').map(commandOf)
  }

  of(run: number): StoredCommand[] {
    return this.#file.all('SELECT n, run, data FROM commands WHERE run = ? ORDER BY n', run).map(commandOf)
  }

  delete(n: number): void {
    this.#file.run('DELETE FROM commands WHERE n = ?', n)
  }
}

const commandOf = (row: Row): StoredCommand => {
  const command = jsonIn(row, 'data')
  if (!isJsonObject(command) || typeof command.type !== 'string') throw damaged('a command has no type')
  return { n: numberIn(row, 'n'), run: numberIn(row, 'run'), command: storedCommand(command) }
}
