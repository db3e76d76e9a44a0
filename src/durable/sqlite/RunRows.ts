import { ConfigurationError, type ErrorData } from '../../messages/errors.ts'
import type { RunStatus } from '../runs.ts'
import {
  type Checkpoint,
  listed,
  type NewRun,
  type RunRow,
  type RunSummary,
  summaryColumns,
  summaryOf,
} from './runRow.ts'
import { jsonIn, numberIn, type SqliteFile, textIn } from './SqliteFile.ts'

/** The runs that a list shows. */
type RunFilter = {
  status?: RunStatus | undefined
  agent?: string | undefined
  tag?: string | undefined
}

/** The table of runs. */
export class RunRows {
  readonly #file: SqliteFile

  constructor(file: SqliteFile) {
    this.#file = file
  }

  get(id: string): RunRow | undefined {
    const row = this.#file.get(`SELECT ${summaryColumns}, head FROM runs WHERE id = ?`, id)
    return row && { ...summaryOf(row), packedSnapshot: textIn(row, 'head') }
  }

  byNumber(n: number): RunRow | undefined {
    const row = this.#file.get(`SELECT ${summaryColumns}, head FROM runs WHERE n = ? AND id IS NOT NULL`, n)
    return row && { ...summaryOf(row), packedSnapshot: textIn(row, 'head') }
  }

  /** The number of a run, also of one whose row is damaged. */
  number(id: string): number | undefined {
    const row = this.#file.get('SELECT n FROM runs WHERE id = ?', id)
    return row && numberIn(row, 'n')
  }

  summary(id: string): RunSummary | undefined {
    const row = this.#file.get(`SELECT ${summaryColumns} FROM runs WHERE id = ?`, id)
    return row && summaryOf(row)
  }

  /** Lists the newest first, of the runs that are older than number `before`. */
  list(before: number, limit: number, { status, agent, tag }: RunFilter): RunSummary[] {
    // Only what is asked for: SQLite then finds the index for it.
    const where = [
      status !== undefined && 'status = ?',
      agent !== undefined && 'agent = ?',
      tag !== undefined && 'n IN (SELECT run FROM tags WHERE tag = ?)',
    ].filter((each) => each !== false)
    const rows = this.#file.all(
      `SELECT ${summaryColumns} FROM runs WHERE ${['id IS NOT NULL', ...where, 'n < ?'].join(' AND ')}
       ORDER BY n DESC LIMIT ?`,
      ...[status, agent, tag].filter((each) => each !== undefined),
      before,
      limit,
    )
    return rows.map(listed)
  }

  /** Lists the runs that a process must take care of, the oldest first. */
  unsettled(): { n: number; agent: string; status: unknown; recoveries: number }[] {
    const rows = this.#file.all(
      'SELECT n, agent, status, recoveries FROM runs WHERE live = 1 AND id IS NOT NULL ORDER BY n',
    )
    return rows.map((row) => ({
      n: numberIn(row, 'n'),
      agent: String(row.agent),
      status: row.status,
      recoveries: Number(row.recoveries),
    }))
  }

  /** Counts the runs that are not over, and finds the one that has not changed for the longest time. */
  counts(): { running: number; waiting: number; oldest: number | undefined } {
    const [running, waiting] = ['running', 'waiting'].map(
      (status) =>
        this.#file.get(
          'SELECT count(*) AS count, min(updated) AS oldest FROM runs WHERE id IS NOT NULL AND status = ?',
          status,
        ) ?? {},
    )
    const oldest = running?.oldest
    return {
      running: Number(running?.count),
      waiting: Number(waiting?.count),
      oldest: typeof oldest === 'number' ? oldest : undefined,
    }
  }

  /** Stores a run, and returns its number in the file. */
  insert(run: NewRun, now: number): number {
    // Another process may have deleted it since it was read.
    if (run.base && this.incarnation(run.base.run) === undefined)
      throw new ConfigurationError(`The run that "${run.id}" builds on was deleted meanwhile.`)
    this.#file.run(
      `INSERT INTO runs (id, agent, status, live, life, recoveries, hidden, step, state, created, updated, prompt,
       forked_from, base, counts, usage, pending, error, head, request, answer, metadata, due)
       VALUES (?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
      run.request ?? null,
      jsonOf(run.answer),
      jsonOf(run.metadata),
      run.due ?? null,
    )
    const n = numberIn(this.#file.get('SELECT n FROM runs WHERE id = ?', run.id) ?? {}, 'n')
    if (run.context !== undefined)
      this.#file.run('INSERT INTO contexts (run, data) VALUES (?, ?)', n, run.context)
    for (const tag of new Set(run.tags)) this.#file.run('INSERT INTO tags (tag, run) VALUES (?, ?)', tag, n)
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

  /** Separate from `update`, because a write to `live` or `due` touches an index. */
  setStatus(
    n: number,
    { status, isUnsettled, due }: Pick<Checkpoint, 'status' | 'isUnsettled' | 'due'>,
  ): void {
    this.#file.run(
      'UPDATE runs SET status = ?, live = ?, due = ? WHERE n = ?',
      status,
      isUnsettled ? 1 : 0,
      due ?? null,
      n,
    )
  }

  /** Lists the runs that wait, and whose time has come, the first one first. */
  due(now: number): { n: number; agent: string }[] {
    const rows = this.#file.all(`SELECT n, agent FROM runs WHERE ${isDue} ORDER BY due, n`, now)
    return rows.map((row) => ({ n: numberIn(row, 'n'), agent: String(row.agent) }))
  }

  /** The due time of the run that waits, and should have continued first; undefined if none should have. */
  dueSince(now: number): unknown {
    return this.#file.get(`SELECT due FROM runs WHERE ${isDue} ORDER BY due LIMIT 1`, now)?.due
  }

  /**
   * Notes that another process, or the same one after a failure, begins to work on the run. False if another one has
   * begun since the run was read.
   */
  beginIncarnation(n: number, incarnation: number, recoveries: number): boolean {
    const changes = this.#file.run(
      'UPDATE runs SET life = ?, recoveries = ?, blocked = NULL WHERE n = ? AND life = ? AND id IS NOT NULL',
      incarnation,
      recoveries,
      n,
      incarnation - 1,
    )
    return changes > 0
  }

  /** Notes that the run was stopped in good order: the restart that follows does not count as a failure of its own. */
  release(n: number, recoveries: number): void {
    this.#file.run('UPDATE runs SET recoveries = min(recoveries, ?) WHERE n = ?', recoveries, n)
  }

  /** Notes why the run does not continue for now. */
  block(n: number, reason: string): void {
    this.#file.run('UPDATE runs SET blocked = ? WHERE n = ?', reason, n)
  }

  /** Notes the error of a chart that broke. The snapshot of its last step stays. */
  fail(n: number, error: ErrorData, now: number): void {
    this.#file.run('UPDATE runs SET error = ?, updated = ? WHERE n = ?', JSON.stringify(error), now, n)
  }

  abandon(n: number, error: ErrorData, now: number): void {
    this.#file.run(
      `UPDATE runs SET status = 'abandoned', live = 0, due = NULL, error = ?, updated = ? WHERE n = ?`,
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

/** A run whose time has come. The plus keeps SQLite from the index of the status: most runs that wait have no due time. */
const isDue = `due <= ? AND due IS NOT NULL AND +status = 'waiting' AND id IS NOT NULL`

const jsonOf = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value))
