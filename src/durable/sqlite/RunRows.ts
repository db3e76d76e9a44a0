import type { ErrorData } from '../../messages/errors.ts'
import { isJsonObject } from '../../messages/json.ts'
import type { PendingCall, Usage } from '../../messages/result.ts'
import type { RunInfo, RunStatus } from '../runs.ts'
import type { Counts } from './Items.ts'
import { jsonIn, numberIn, type Row, type SqliteFile, textIn } from './SqliteFile.ts'
import { damaged } from './storeError.ts'

/** The items that a run builds on: those of another one, as many of each thread. */
export type Base = { run: number; counts: Counts }

/** What each step of a run changes. */
export type Progress = {
  status: RunStatus
  /** A process must continue it, or show its readers its status. */
  live: boolean
  recoveries: number
  /** Messages that its chart did not show. */
  hidden: number
  step: number
  state: string
  usage: Usage | undefined
  pending: readonly PendingCall[]
  error: ErrorData | undefined
  /** The packed `{ input }` or `{ snapshot }` that it continues from. */
  head: string
}

/** The state of a run that has not started. */
export const notBegun: Omit<Progress, 'head'> = {
  status: 'running',
  live: true,
  recoveries: 0,
  hidden: 0,
  step: 0,
  state: '',
  usage: undefined,
  pending: [],
  error: undefined,
}

/** What a run begins with. */
export type NewRun = Progress & {
  id: string
  agent: string
  prompt: string
  forkedFrom: string | undefined
  base: Base | undefined
  /** What the tools get, as JSON; undefined for nothing. */
  context: string | undefined
}

/** A run as it is stored; `n` is its number in the file. */
export type RunRow = Omit<NewRun, 'context'> & { n: number; life: number; created: number; updated: number }

/** A run without its data: what a list shows. */
export type RunSummary = Omit<RunRow, 'head'>

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
    return row && { ...summaryOf(row), head: textIn(row, 'head') }
  }

  byNumber(n: number): RunRow | undefined {
    const row = this.#file.get('SELECT * FROM runs WHERE n = ? AND id IS NOT NULL', n)
    return row && { ...summaryOf(row), head: textIn(row, 'head') }
  }

  summary(id: string): RunSummary | undefined {
    const row = this.#file.get(`SELECT ${summary} FROM runs WHERE id = ?`, id)
    return row && summaryOf(row)
  }

  /** The newest first, of those that are older than number `before`. */
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

  /** Those that a process must take care of, the oldest first. */
  live(): { n: number; id: string; agent: string }[] {
    const rows = this.#file.all('SELECT n, id, agent FROM runs WHERE live = 1 AND id IS NOT NULL ORDER BY n')
    return rows.map((row) => ({ n: numberIn(row, 'n'), id: textIn(row, 'id'), agent: textIn(row, 'agent') }))
  }

  /** Its number in the file. */
  insert(run: NewRun, now: number): number {
    this.#file.run(
      `INSERT INTO runs (id, agent, status, live, life, recoveries, hidden, step, state, created, updated, prompt,
       forked_from, base, counts, usage, pending, error, head)
       VALUES (?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      run.id,
      run.agent,
      run.status,
      run.live ? 1 : 0,
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
      run.head,
    )
    const n = numberIn(this.#file.get('SELECT n FROM runs WHERE id = ?', run.id) ?? {}, 'n')
    if (run.context !== undefined)
      this.#file.run('INSERT INTO contexts (run, data) VALUES (?, ?)', n, run.context)
    return n
  }

  /** Whether the run is still there. */
  update(n: number, to: Progress, now: number): boolean {
    const changes = this.#file.run(
      `UPDATE runs SET recoveries = ?, hidden = ?, step = ?, state = ?, updated = ?, usage = ?, pending = ?, error = ?, head = ?
       WHERE n = ? AND id IS NOT NULL`,
      to.recoveries,
      to.hidden,
      to.step,
      to.state,
      now,
      jsonOf(to.usage),
      jsonOf(to.pending.length > 0 ? to.pending : undefined),
      jsonOf(to.error),
      to.head,
      n,
    )
    return changes > 0
  }

  /** Apart from `update`, because an index looks at `live`. */
  stand(n: number, status: RunStatus, live: boolean): void {
    this.#file.run('UPDATE runs SET status = ?, live = ? WHERE n = ?', status, live ? 1 : 0, n)
  }

  /** The run begins another life. */
  takeUp(n: number, life: number, recoveries: number): void {
    this.#file.run('UPDATE runs SET life = ?, recoveries = ? WHERE n = ?', life, recoveries, n)
  }

  /** It broke: what it continues from stays as it was. */
  fail(n: number, error: ErrorData, now: number): void {
    this.#file.run('UPDATE runs SET error = ?, updated = ? WHERE n = ?', JSON.stringify(error), now, n)
  }

  giveUp(n: number, error: ErrorData, now: number): void {
    this.#file.run(
      `UPDATE runs SET status = 'abandoned', live = 0, error = ?, updated = ? WHERE n = ?`,
      JSON.stringify(error),
      now,
      n,
    )
  }

  /** What its tools get, as it was stored. */
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
  state: run.state,
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

/** Every status of a run. */
export const statuses: readonly RunStatus[] = [
  'running',
  'waiting',
  'complete',
  'failed',
  'aborted',
  'abandoned',
]

export const isStatus = (value: unknown): value is RunStatus => statuses.some((each) => each === value)

const summaryOf = (row: Row): RunSummary => {
  const status = row.status
  if (!isStatus(status)) throw damaged(`a run has the status ${String(status)}`)
  return {
    n: numberIn(row, 'n'),
    id: textIn(row, 'id'),
    agent: textIn(row, 'agent'),
    status,
    live: numberIn(row, 'live') === 1,
    life: numberIn(row, 'life'),
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

/** The base of a row. */
export const baseIn = (row: Row): Base => {
  const counts = jsonIn(row, 'counts')
  if (!isJsonObject(counts) || !Object.values(counts).every(Number.isInteger))
    throw damaged('the base of a run has no counts')
  return { run: numberIn(row, 'base'), counts: counts as Counts }
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
  if (!isJsonObject(error) || typeof error.message !== 'string') throw damaged('the error of a run is none')
  return error as ErrorData
}
