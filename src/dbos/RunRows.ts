import type { AgentCommand } from '../../machines/agent/events.ts'
import { stateName } from '../../machines/agent/states.ts'
import type { HostedFrom } from '../agent/Agent.ts'
import { storedCommand } from '../agent/commands.ts'
import { checkStoredCommand } from '../durable/commands.ts'
import type { NumberedCommand, SegmentEnd, SegmentStart } from '../durable/replay/engine.ts'
import { unknownRun } from '../durable/runOptions.ts'
import type { RunStatus } from '../durable/runs.ts'
import { stepsIn, usageIn } from '../durable/snapshots.ts'
import type { ErrorData } from '../messages/errors.ts'
import { isJsonObject } from '../messages/json.ts'
import type { Database } from './Database.ts'
import { damaged, fromJson, infoColumns, pendingOf, type RunRow, runRow } from './tables.ts'

/** A run that is to be started. */
export type NewRun = {
  id: string
  agent: string
  from: HostedFrom
  context: unknown
  prompt: string
  forkedFrom?: string
}

export type ListOptions = { status?: RunStatus; agent?: string; limit?: number; before?: string }

/** The table of runs. Every change of a run is made under the lock of its row, so no command gets lost. */
export class RunRows {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Stores a new run, unless there is one with this id; returns the one that is there then. */
  async insert({ id, agent, from, context, prompt, forkedFrom }: NewRun): Promise<RunRow> {
    await this.#database.query(
      `INSERT INTO statewire.runs (id, agent, start, context, prompt, forked_from)
       VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING`,
      id,
      agent,
      JSON.stringify(from),
      context === undefined ? null : JSON.stringify(context),
      prompt,
      forkedFrom ?? null,
    )
    return await this.known(id)
  }

  async find(id: string): Promise<RunRow | undefined> {
    const [row] = await this.#database.query(`SELECT ${infoColumns} FROM statewire.runs WHERE id = $1`, id)
    return row && runRow(row)
  }

  async known(id: string): Promise<RunRow> {
    const row = await this.find(id)
    if (!row) throw unknownRun(id)
    return row
  }

  async list({ status, agent, limit = 100, before }: ListOptions): Promise<RunRow[]> {
    const rows = await this.#database.query(
      `SELECT ${infoColumns} FROM statewire.runs
       WHERE ($1::text IS NULL OR status = $1) AND ($2::text IS NULL OR agent = $2)
         AND ($3::text IS NULL OR (created_at, id) < (SELECT created_at, id FROM statewire.runs WHERE id = $3))
       ORDER BY created_at DESC, id DESC LIMIT $4`,
      status ?? null,
      agent ?? null,
      before ?? null,
      limit,
    )
    return rows.map(runRow)
  }

  /** Reads the beginning of a segment. */
  async startOf(id: string, segment: number): Promise<SegmentStart> {
    const column = segment === 1 ? 'start' : 'snapshot'
    const [row] = await this.#database.query(
      `SELECT ${column} AS begins, context, seen FROM statewire.runs WHERE id = $1`,
      id,
    )
    const begins = fromJson(row?.begins)
    if (!row || !isJsonObject(begins)) throw damaged(id)
    const context = fromJson(row.context)
    const from = (segment === 1 ? begins : { snapshot: begins }) as HostedFrom
    return { from, seen: Number(row.seen), ...(context !== undefined && { context }) }
  }

  /** Reads the `context` of a run's tools. */
  async contextOf(id: string): Promise<unknown> {
    const [row] = await this.#database.query('SELECT context FROM statewire.runs WHERE id = $1', id)
    return fromJson(row?.context)
  }

  /** Reads the result of a run, or of its last segment. */
  async resultOf(id: string): Promise<{ status: RunStatus; result: unknown; error: unknown }> {
    const [row] = await this.#database.query(
      'SELECT status, result, error FROM statewire.runs WHERE id = $1',
      id,
    )
    if (!row) throw unknownRun(id)
    return { status: row.status as RunStatus, result: fromJson(row.result), error: fromJson(row.error) }
  }

  /** Reads the commands that have come after a number. */
  async commandsAfter(id: string, after: number): Promise<NumberedCommand[]> {
    const rows = await this.#database.query(
      'SELECT number, command FROM statewire.commands WHERE run = $1 AND number > $2 ORDER BY number',
      id,
      after,
    )
    return rows.flatMap(({ number, command }) => {
      const found = fromJson(command)
      return isJsonObject(found) ? [{ number: Number(number), command: storedCommand(found) }] : []
    })
  }

  /** Enqueues a command that the run can take. Returns the segment that it begins, if the run has waited for it. */
  enqueueCommand(id: string, given: AgentCommand): Promise<{ agent: string; segment: number } | undefined> {
    return this.#database.transaction(async (query) => {
      const [row] = await query(
        'SELECT agent, status, leg, pending, sent, seen FROM statewire.runs WHERE id = $1 FOR UPDATE',
        id,
      )
      if (!row) throw unknownRun(id)
      const unseen = await query(
        'SELECT command FROM statewire.commands WHERE run = $1 AND number > $2',
        id,
        row.seen,
      )
      const run = { id, status: row.status, pending: pendingOf(row.pending) }
      const enqueued = unseen.map(({ command }) => fromJson(command))
      const command = JSON.stringify(checkStoredCommand(given, run, enqueued))
      const isWaiting = row.status === 'waiting'
      const segment = Number(row.leg) + (isWaiting ? 1 : 0)
      await query(
        'INSERT INTO statewire.commands (run, number, command) VALUES ($1, $2, $3)',
        id,
        Number(row.sent) + 1,
        command,
      )
      await query(
        `UPDATE statewire.runs SET sent = sent + 1, status = 'running', leg = $2, updated_at = clock_timestamp()
         WHERE id = $1`,
        id,
        segment,
      )
      return isWaiting ? { agent: String(row.agent), segment } : undefined
    })
  }

  /** Stores the state of a run while it runs. It made progress: earlier crashes no longer count. */
  async progress(id: string, segment: number, snapshot: unknown): Promise<void> {
    await this.#database.query(
      `UPDATE statewire.runs
       SET state = $3, step = $4, usage = $5, recoveries = 0, updated_at = clock_timestamp()
       WHERE id = $1 AND leg = $2 AND status = 'running'`,
      id,
      segment,
      stateIn(snapshot),
      stepsIn(snapshot),
      JSON.stringify(usageIn(snapshot)) ?? null,
    )
  }

  /**
   * Stores the end of a segment. Returns the next one, if something was sent that the segment has not seen. It may be
   * called again.
   */
  settle(id: string, segment: number, end: SegmentEnd): Promise<number | null> {
    return this.#database.transaction(async (query) => {
      const [row] = await query('SELECT status, leg, sent FROM statewire.runs WHERE id = $1 FOR UPDATE', id)
      if (!row || Number(row.leg) !== segment || row.status !== 'running')
        return row?.status === 'running' && Number(row.leg) === segment + 1 ? segment + 1 : null
      const isDue = end.status === 'waiting' && Number(row.sent) > end.seen
      const { snapshot, result, pending, error, state, usage, step } = settledColumns(end)
      await query(
        `UPDATE statewire.runs
         SET status = $2, leg = $3, snapshot = $4, result = $5, pending = $6, error = $7, seen = $8,
             state = coalesce($9, state), usage = coalesce($10, usage), step = coalesce($11, step),
             recoveries = 0, updated_at = clock_timestamp()
         WHERE id = $1`,
        id,
        isDue ? 'running' : end.status,
        isDue ? segment + 1 : segment,
        snapshot,
        result,
        pending,
        error,
        end.seen,
        state,
        usage,
        step,
      )
      return isDue ? segment + 1 : null
    })
  }

  /** Ends a run that will not continue, as `failed` or `abandoned`. */
  async abandon(id: string, segment: number, status: RunStatus, error: ErrorData): Promise<void> {
    await this.#database.query(
      `UPDATE statewire.runs SET status = $3, error = $4, updated_at = clock_timestamp()
       WHERE id = $1 AND leg = $2 AND status = 'running'`,
      id,
      segment,
      status,
      JSON.stringify(error),
    )
  }

  /** Counts a restart of a run, and returns how many there were since it last made progress. */
  async countRecovery(id: string): Promise<number> {
    const [row] = await this.#database.query(
      'UPDATE statewire.runs SET recoveries = recoveries + 1 WHERE id = $1 RETURNING recoveries',
      id,
    )
    return Number(row?.recoveries ?? 0)
  }

  /** Lists runs that are `running`, and have not changed for a while. */
  async quiet(agents: readonly string[], forMs: number): Promise<RunRow[]> {
    const rows = await this.#database.query(
      `SELECT ${infoColumns} FROM statewire.runs
       WHERE status = 'running' AND agent = ANY($1) AND updated_at < clock_timestamp() - make_interval(secs => $2)
       ORDER BY updated_at LIMIT 500`,
      agents,
      forMs / 1000,
    )
    return rows.map(runRow)
  }

  /** Deletes runs that have not changed since a moment, and returns the last segment of each. */
  async prune(olderThan: Date, statuses: readonly RunStatus[]): Promise<{ id: string; segment: number }[]> {
    const rows = await this.#database.query(
      'DELETE FROM statewire.runs WHERE updated_at < $1 AND status = ANY($2) RETURNING id, leg',
      olderThan,
      statuses,
    )
    return rows.map(({ id, leg }) => ({ id: String(id), segment: Number(leg) }))
  }
}

type SettledColumns = Record<
  'snapshot' | 'result' | 'pending' | 'error' | 'state' | 'usage',
  string | null
> & { step: number | null }

const nothingSettled: SettledColumns = {
  snapshot: null,
  result: null,
  pending: '[]',
  error: null,
  state: null,
  usage: null,
  step: null,
}

const settledColumns = (end: SegmentEnd): SettledColumns => {
  if (end.status === 'abandoned') return { ...nothingSettled, error: JSON.stringify(end.error) }
  if (end.status === 'waiting')
    return {
      ...nothingSettled,
      snapshot: JSON.stringify(end.snapshot),
      result: JSON.stringify(end.result),
      pending: JSON.stringify(end.result.pendingApproval.calls),
      state: stateIn(end.snapshot),
      usage: JSON.stringify(usageIn(end.snapshot)) ?? null,
      step: stepsIn(end.snapshot),
    }
  const { output } = end
  return {
    ...nothingSettled,
    result: JSON.stringify(output),
    error: output.status === 'failed' ? JSON.stringify(output.error) : null,
    state: endStates[end.status],
    usage: JSON.stringify(output.usage) ?? null,
  }
}

const endStates = { complete: 'Complete', failed: 'Failed', aborted: 'Aborted' }

const stateIn = (snapshot: unknown): string => stateName(Object(snapshot).value)
