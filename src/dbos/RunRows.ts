import type { AgentCommand } from '../../machines/agent/events.ts'
import type { HostedFrom } from '../agent/Agent.ts'
import { storedCommand } from '../agent/commands.ts'
import { checkStoredCommand } from '../durable/commands.ts'
import type { NumberedCommand, SegmentEnd, SegmentStart } from '../durable/replay/engine.ts'
import { commandConflict, digestOf, unknownRun } from '../durable/runOptions.ts'
import type { RunStatus, Runs, RunsHealth } from '../durable/runs.ts'
import { stepsIn, usageIn } from '../durable/snapshots.ts'
import type { ErrorData } from '../messages/errors.ts'
import { isJsonObject, type JsonObject } from '../messages/json.ts'
import type { Database, Query } from './Database.ts'
import {
  damaged,
  fromJson,
  infoColumns,
  pendingOf,
  type RunRow,
  runRow,
  settledColumns,
  stateIn,
} from './tables.ts'

/** A run that is to be started. */
export type NewRun = {
  id: string
  agent: string
  from: HostedFrom
  context: unknown
  prompt: string
  forkedFrom?: string
  /** A digest of what it was started with; undefined for a fork. */
  request?: string | undefined
  /** The JSON Schema of its answer. */
  answer?: JsonObject | undefined
  metadata?: JsonObject | undefined
  tags?: readonly string[] | undefined
}

export type ListOptions = NonNullable<Parameters<Runs['list']>[0]>

/** The table of runs. Every change of a run is made under the lock of its row, so no command gets lost. */
export class RunRows {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Stores a new run, unless there is one with this id; returns the one that is there then. */
  async insert(run: NewRun): Promise<RunRow> {
    const { id, agent, from, context, prompt, forkedFrom, request, answer, metadata, tags = [] } = run
    await this.#database.query(
      `INSERT INTO statewire.runs (id, agent, start, context, prompt, forked_from, request, answer, metadata, tags)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (id) DO NOTHING`,
      id,
      agent,
      JSON.stringify(from),
      JSON.stringify(context) ?? null,
      prompt,
      forkedFrom ?? null,
      request ?? null,
      JSON.stringify(answer) ?? null,
      JSON.stringify(metadata) ?? null,
      [...new Set(tags)],
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

  async list({ status, agent, tag, limit = 100, before }: ListOptions): Promise<RunRow[]> {
    const rows = await this.#database.query(
      `SELECT ${infoColumns} FROM statewire.runs
       WHERE ($1::text IS NULL OR status = $1) AND ($2::text IS NULL OR agent = $2)
         AND ($3::text IS NULL OR (created_at, id) < (SELECT created_at, id FROM statewire.runs WHERE id = $3))
         AND ($5::text IS NULL OR tags @> ARRAY[$5])
       ORDER BY created_at DESC, id DESC LIMIT $4`,
      status ?? null,
      agent ?? null,
      before ?? null,
      limit,
      tag ?? null,
    )
    return rows.map(runRow)
  }

  /** Reads the beginning of a segment. */
  async startOf(id: string, segment: number): Promise<SegmentStart> {
    const column = segment === 1 ? 'start' : 'snapshot'
    const [row] = await this.#database.query(
      `SELECT ${column} AS begins, context, answer, seen FROM statewire.runs WHERE id = $1`,
      id,
    )
    const begins = fromJson(row?.begins)
    if (!row || !isJsonObject(begins)) throw damaged(id)
    const context = fromJson(row.context)
    const from = (segment === 1 ? begins : { snapshot: begins }) as HostedFrom
    const answer = fromJson(row.answer)
    return {
      from,
      seen: Number(row.seen),
      ...(context !== undefined && { context }),
      ...(isJsonObject(answer) && { answer }),
    }
  }

  /** Reads what a fork of a run has in common with it, beside the conversation. */
  async sharedOf(id: string): Promise<Pick<NewRun, 'context' | 'answer' | 'metadata' | 'tags'>> {
    const [row] = await this.#database.query(
      'SELECT context, answer, metadata, tags FROM statewire.runs WHERE id = $1',
      id,
    )
    const [answer, metadata] = [fromJson(row?.answer), fromJson(row?.metadata)]
    return {
      context: fromJson(row?.context),
      ...(isJsonObject(answer) && { answer }),
      ...(isJsonObject(metadata) && { metadata }),
      ...(Array.isArray(row?.tags) && { tags: row.tags.map(String) }),
    }
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

  /**
   * Enqueues a command that the run can take; one whose id was taken before does not count. Returns the segment that it
   * begins, if the run has waited for it.
   */
  enqueueCommand(
    id: string,
    given: AgentCommand,
    commandId: string | undefined,
  ): Promise<{ agent: string; segment: number } | undefined> {
    return this.#database.transaction(async (query) => {
      const [row] = await query(
        'SELECT agent, status, leg, pending, sent, seen FROM statewire.runs WHERE id = $1 FOR UPDATE',
        id,
      )
      if (!row) throw unknownRun(id)
      if (commandId !== undefined && (await isTaken(query, id, commandId, given))) return undefined
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

  /** Deletes a run, and returns its last segment. */
  async delete(id: string): Promise<{ segment: number } | undefined> {
    const [row] = await this.#database.query('DELETE FROM statewire.runs WHERE id = $1 RETURNING leg', id)
    return row && { segment: Number(row.leg) }
  }

  /** Counts the runs that are not over, the commands that are not read, and the workers that are alive. */
  async health(aliveMs: number): Promise<Omit<RunsHealth, 'owner' | 'hosted'> & { workers: string[] }> {
    const [row] = await this.#database.query(
      `SELECT count(*) FILTER (WHERE status = 'running') AS running, count(*) FILTER (WHERE status = 'waiting') AS waiting,
         min(updated_at) FILTER (WHERE status = 'running') AS oldest,
         coalesce(sum(sent - seen) FILTER (WHERE status = 'running'), 0) AS unread,
         pg_database_size(current_database()) AS bytes
       FROM statewire.runs WHERE status IN ('running', 'waiting')`,
    )
    const alive = await this.#database.query(
      'SELECT id FROM statewire.workers WHERE left_at IS NULL AND beat_at > clock_timestamp() - make_interval(secs => $1)',
      aliveMs / 1000,
    )
    return {
      running: Number(row?.running),
      waiting: Number(row?.waiting),
      ...(row?.oldest instanceof Date && { oldest: row.oldest }),
      unreadCommands: Number(row?.unread),
      bytes: Number(row?.bytes),
      workers: alive.map(({ id }) => String(id)),
    }
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

/** Notes the id of a command, and says whether it was noted before. Another command with the same id is refused. */
const isTaken = async (query: Query, run: string, id: string, command: unknown): Promise<boolean> => {
  const digest = digestOf(command)
  const [row] = await query('SELECT digest FROM statewire.command_ids WHERE run = $1 AND id = $2', run, id)
  if (row && row.digest !== digest) throw commandConflict(id)
  if (!row) await query('INSERT INTO statewire.command_ids VALUES ($1, $2, $3)', run, id, digest)
  return row !== undefined
}
