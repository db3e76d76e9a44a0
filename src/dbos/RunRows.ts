import type { AgentCommand } from '../../machines/agent/events.ts'
import type { HostedFrom } from '../agent/Agent.ts'
import { checkCommand, storedCommand } from '../agent/commands.ts'
import type { LegEnd, LegStart, NumberedCommand } from '../durable/replay/replay.ts'
import type { RunStatus } from '../durable/runs.ts'
import { stateName, stepsIn, usageIn } from '../durable/standing.ts'
import { ConfigurationError, type ErrorData } from '../messages/errors.ts'
import { isJsonObject } from '../messages/json.ts'
import type { Database } from './Database.ts'
import { damaged, fromJson, infoColumns, pendingOf, type RunRow, runRow } from './runRow.ts'

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

/** The current state of the runs. Every change of one is made under the lock of its row, so no command gets lost. */
export class RunRows {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Stores a new run, unless one of this id is there already; gives the one that is there then. */
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

  /** What a leg begins with. */
  async startOf(id: string, leg: number): Promise<LegStart> {
    const column = leg === 1 ? 'start' : 'snapshot'
    const [row] = await this.#database.query(
      `SELECT ${column} AS begins, context, seen FROM statewire.runs WHERE id = $1`,
      id,
    )
    const begins = fromJson(row?.begins)
    if (!row || !isJsonObject(begins)) throw damaged(id)
    const context = fromJson(row.context)
    const from = (leg === 1 ? begins : { snapshot: begins }) as HostedFrom
    return { from, seen: Number(row.seen), ...(context !== undefined && { context }) }
  }

  /** What the tools of a run get. */
  async contextOf(id: string): Promise<unknown> {
    const [row] = await this.#database.query('SELECT context FROM statewire.runs WHERE id = $1', id)
    return fromJson(row?.context)
  }

  /** What a run, or the last leg of it, gave. */
  async resultOf(id: string): Promise<{ status: RunStatus; result: unknown; error: unknown }> {
    const [row] = await this.#database.query(
      'SELECT status, result, error FROM statewire.runs WHERE id = $1',
      id,
    )
    if (!row) throw unknownRun(id)
    return { status: row.status as RunStatus, result: fromJson(row.result), error: fromJson(row.error) }
  }

  /** The commands that have come after a number. */
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

  /** Stores a command that the run can take. Gives the leg that it begins, if the run has waited for it. */
  send(id: string, given: AgentCommand): Promise<{ agent: string; leg: number } | undefined> {
    return this.#database.transaction(async (query) => {
      const [row] = await query(
        'SELECT agent, status, leg, pending, sent, seen FROM statewire.runs WHERE id = $1 FOR UPDATE',
        id,
      )
      if (!row) throw unknownRun(id)
      if (row.status !== 'running' && row.status !== 'waiting')
        throw new ConfigurationError(
          `The run "${id}" is over (${String(row.status)}): start a new one, or fork it.`,
        )
      const unseen = await query(
        'SELECT command FROM statewire.commands WHERE run = $1 AND number > $2',
        id,
        row.seen,
      )
      const decided = unseen.flatMap(({ command }) => callIdOf(fromJson(command)))
      const pending = pendingOf(row.pending).filter((call) => !decided.includes(call.id))
      const command = JSON.stringify(checkCommand(given, pending))
      const isWaiting = row.status === 'waiting'
      const leg = Number(row.leg) + (isWaiting ? 1 : 0)
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
        leg,
      )
      return isWaiting ? { agent: String(row.agent), leg } : undefined
    })
  }

  /** The status of a run while it runs. It made progress: earlier crashes no longer count. */
  async progress(id: string, leg: number, snapshot: unknown): Promise<void> {
    await this.#database.query(
      `UPDATE statewire.runs
       SET state = $3, step = $4, usage = $5, recoveries = 0, updated_at = clock_timestamp()
       WHERE id = $1 AND leg = $2 AND status = 'running'`,
      id,
      leg,
      stateName(snapshot),
      stepsIn(snapshot),
      JSON.stringify(usageIn(snapshot)) ?? null,
    )
  }

  /** Where a leg has ended. Gives the next one, if something was sent that the leg has not seen. It may be called again. */
  settle(id: string, leg: number, end: LegEnd): Promise<number | null> {
    return this.#database.transaction(async (query) => {
      const [row] = await query('SELECT status, leg, sent FROM statewire.runs WHERE id = $1 FOR UPDATE', id)
      if (!row || Number(row.leg) !== leg || row.status !== 'running')
        return row?.status === 'running' && Number(row.leg) === leg + 1 ? leg + 1 : null
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
        isDue ? leg + 1 : leg,
        snapshot,
        result,
        pending,
        error,
        end.seen,
        state,
        usage,
        step,
      )
      return isDue ? leg + 1 : null
    })
  }

  /** A run that will not continue. */
  async giveUp(id: string, leg: number, status: RunStatus, error: ErrorData): Promise<void> {
    await this.#database.query(
      `UPDATE statewire.runs SET status = $3, error = $4, updated_at = clock_timestamp()
       WHERE id = $1 AND leg = $2 AND status = 'running'`,
      id,
      leg,
      status,
      JSON.stringify(error),
    )
  }

  /** Counts that a run is started again, and returns how often that was since it last made progress. */
  async takenUp(id: string): Promise<number> {
    const [row] = await this.#database.query(
      'UPDATE statewire.runs SET recoveries = recoveries + 1 WHERE id = $1 RETURNING recoveries',
      id,
    )
    return Number(row?.recoveries ?? 0)
  }

  /** Runs that say that they run, and have not moved for a while. */
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

  /** Deletes runs that have not changed since a moment, and gives the last leg of each. */
  async prune(olderThan: Date, statuses: readonly RunStatus[]): Promise<{ id: string; leg: number }[]> {
    const rows = await this.#database.query(
      'DELETE FROM statewire.runs WHERE updated_at < $1 AND status = ANY($2) RETURNING id, leg',
      olderThan,
      statuses,
    )
    return rows.map(({ id, leg }) => ({ id: String(id), leg: Number(leg) }))
  }
}

const callIdOf = (command: unknown): string[] =>
  isJsonObject(command) && typeof command.callId === 'string' ? [command.callId] : []

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

const settledColumns = (end: LegEnd): SettledColumns => {
  if (end.status === 'abandoned') return { ...nothingSettled, error: JSON.stringify(end.error) }
  if (end.status === 'waiting')
    return {
      ...nothingSettled,
      snapshot: JSON.stringify(end.snapshot),
      result: JSON.stringify(end.result),
      pending: JSON.stringify(end.result.pendingApproval.calls),
      state: stateName(end.snapshot),
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

const unknownRun = (id: string): ConfigurationError => new ConfigurationError(`There is no run "${id}".`)
