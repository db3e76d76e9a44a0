import { openIn } from '../../machines/tools/pendingCalls.ts'
import type { HostedFrom } from '../agent/options.ts'
import type { SegmentStart } from '../durable/replay/engine.ts'
import { unknownRun } from '../durable/runOptions.ts'
import type { RunInfo, RunStatus, Runs, RunsHealth } from '../durable/runs.ts'
import { stepsIn, usageIn } from '../durable/snapshots.ts'
import { storedTasks } from '../durable/tasks.ts'
import { ConfigurationError, type ErrorData } from '../messages/errors.ts'
import { isJsonObject } from '../messages/json.ts'
import type { DueSegment } from './CommandRows.ts'
import type { Database, Query } from './Database.ts'
import {
  damaged,
  fromJson,
  infoColumns,
  infoOf,
  listedRow,
  type NewRun,
  type RunRow,
  runRow,
  type SettledEnd,
  settledColumns,
  stateIn,
} from './tables.ts'
import { packTasks } from './taskList.ts'

/** A run that may have background agents, and the last command that it got. */
type Family = { run: RunInfo; seen: number }

export type ListOptions = NonNullable<Parameters<Runs['list']>[0]>

/** The table of runs. Every change of a run is made under the lock of its row, so no command gets lost. */
export class RunRows {
  readonly #database: Database
  /** Time after which a silent worker is taken for dead. */
  readonly #aliveMs: number

  constructor(database: Database, aliveMs: number) {
    this.#database = database
    this.#aliveMs = aliveMs
  }

  /**
   * Stores a new run, unless there is one with this id; returns the one that is there then. A turn of a chat is stored only
   * if the chat still ends where it did; otherwise there is none.
   */
  async insert(run: NewRun): Promise<RunRow | undefined> {
    await this.#database.transaction(async (query) => {
      if (await this.#insert(query, run)) await this.#moveOn(query, run)
    })
    return await this.find(run.id)
  }

  /** Ends the chat with the run, or takes the run back. */
  async #moveOn(query: Query, { id, agent, chat }: NewRun): Promise<void> {
    if (!chat) return
    const begin = 'INSERT INTO statewire.chats VALUES ($1, $2, NULL, NULL) ON CONFLICT DO NOTHING'
    if (!chat.end) await query(begin, chat.id, agent)
    const [moved] = await query(
      'UPDATE statewire.chats SET run = $2, length = NULL WHERE id = $1 AND run IS NOT DISTINCT FROM $3 RETURNING id',
      chat.id,
      id,
      chat.end?.run ?? null,
    )
    if (!moved) await query('DELETE FROM statewire.runs WHERE id = $1', id)
  }

  async #insert(query: Query, run: NewRun): Promise<boolean> {
    const { id, agent, from, context, prompt, forkedFrom, request, answer, metadata, tags = [] } = run
    const [inserted] = await query(
      `INSERT INTO statewire.runs (id, agent, start, context, prompt, forked_from, request, answer, metadata, tags)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (id) DO NOTHING RETURNING id`,
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
    return inserted !== undefined
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
    return rows.map(listedRow)
  }

  /** Reads the beginning of a segment. */
  async startOf(id: string, segment: number): Promise<SegmentStart> {
    const column = segment === 1 ? 'start' : 'snapshot'
    const sql = `SELECT ${column} AS begins, context, answer, seen FROM statewire.runs WHERE id = $1`
    const [row] = await this.#database.query(sql, id)
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
    const sql = 'SELECT context, answer, metadata, tags FROM statewire.runs WHERE id = $1'
    const [row] = await this.#database.query(sql, id)
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
    const sql = 'SELECT status, result, error FROM statewire.runs WHERE id = $1'
    const [row] = await this.#database.query(sql, id)
    if (!row) throw unknownRun(id)
    return { status: row.status as RunStatus, result: fromJson(row.result), error: fromJson(row.error) }
  }

  /** Stores the state of a run while it runs. It made progress: earlier crashes no longer count. */
  async progress(id: string, segment: number, snapshot: unknown, family?: Family): Promise<void> {
    await this.#database.query(
      `UPDATE statewire.runs
       SET state = $3, step = $4, usage = $5, tasks = coalesce($6, tasks), asks = $7,
         seen = greatest(seen, $8), recoveries = 0, blocked = NULL, updated_at = clock_timestamp()
       WHERE id = $1 AND leg = $2 AND status = 'running'`,
      id,
      segment,
      stateIn(snapshot),
      stepsIn(snapshot),
      JSON.stringify(usageIn(snapshot)) ?? null,
      family ? packTasks(storedTasks(family.run, snapshot)) : null,
      family ? JSON.stringify(openIn(snapshot)) : null,
      family?.seen ?? 0,
    )
  }

  /**
   * Stores the end of a segment. Returns the next one, if something was sent that the segment has not seen. It may be
   * called again.
   */
  settle(id: string, segment: number, end: SettledEnd): Promise<number | null> {
    return this.#database.transaction(async (query) => {
      const [row] = await query('SELECT status, leg, sent FROM statewire.runs WHERE id = $1 FOR UPDATE', id)
      if (!row || Number(row.leg) !== segment || row.status !== 'running')
        return row?.status === 'running' && Number(row.leg) === segment + 1 ? segment + 1 : null
      const status = end.status === 'sleeping' ? 'waiting' : end.status
      const isDue = status === 'waiting' && Number(row.sent) > end.seen
      const { snapshot, result, pending, error, state, usage, step, due } = settledColumns(end)
      await query(
        `UPDATE statewire.runs
         SET status = $2, leg = $3, snapshot = $4, result = $5, pending = $6, error = $7, seen = $8,
             state = coalesce($9, state), usage = coalesce($10, usage), step = coalesce($11, step),
             due = $12, asks = NULL, recoveries = 0, blocked = NULL, updated_at = clock_timestamp()
         WHERE id = $1`,
        id,
        isDue ? 'running' : status,
        isDue ? segment + 1 : segment,
        snapshot,
        result,
        pending,
        error,
        end.seen,
        state,
        usage,
        step,
        due,
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
    const sql = 'UPDATE statewire.runs SET recoveries = recoveries + 1 WHERE id = $1 RETURNING recoveries'
    const [row] = await this.#database.query(sql, id)
    return Number(row?.recoveries ?? 0)
  }

  /** Lists runs that are `running`, and have not changed for a while. */
  async quiet(agents: readonly string[], forMs: number): Promise<(DueSegment & { isBlocked: boolean })[]> {
    const rows = await this.#database.query(
      `SELECT id, agent, leg, blocked FROM statewire.runs
       WHERE status = 'running' AND agent = ANY($1) AND updated_at < clock_timestamp() - make_interval(secs => $2)
       ORDER BY updated_at LIMIT 500`,
      agents,
      forMs / 1000,
    )
    return rows.map(({ id, agent, leg, blocked }) => ({
      id: String(id),
      agent: String(agent),
      segment: Number(leg),
      isBlocked: blocked !== null,
    }))
  }

  /** The public data of runs, with why those that should continue do not. */
  async infosOf(runs: readonly RunRow[]): Promise<RunInfo[]> {
    const isOpen = ({ status }: RunRow) => status === 'running' || status === 'waiting'
    const workers = runs.some(isOpen) ? await this.workers() : []
    const isAbsent = ({ agent }: RunRow) =>
      workers.length > 0 && workers.every(({ agents }) => agents !== undefined && !agents.includes(agent))
    return runs.map((run) => ({
      ...infoOf(run),
      ...(isOpen(run) && isAbsent(run) && { blocked: `No live worker has an agent "${run.agent}".` }),
    }))
  }

  /** Lists the workers that are alive, with the names of their agents. */
  async workers(): Promise<{ id: string; agents: unknown[] | undefined }[]> {
    const alive = await this.#database.query(
      `SELECT id, agents FROM statewire.workers
       WHERE left_at IS NULL AND beat_at > clock_timestamp() - make_interval(secs => $1)`,
      this.#aliveMs / 1000,
    )
    return alive.map(({ id, agents }) => ({
      id: String(id),
      agents: Array.isArray(agents) ? agents : undefined,
    }))
  }

  /** Deletes a run, and returns its last segment. One that has the messages of a chat is refused. */
  delete(id: string): Promise<{ segment: number } | undefined> {
    return this.#database.transaction(async (query) => {
      const [chat] = await query('SELECT id FROM statewire.chats WHERE run = $1', id)
      if (chat)
        throw new ConfigurationError(
          `The run "${id}" is the end of the chat "${String(chat.id)}", and has its messages: it cannot be deleted.`,
        )
      const [row] = await query('DELETE FROM statewire.runs WHERE id = $1 RETURNING leg', id)
      return row && { segment: Number(row.leg) }
    })
  }

  /** Counts the runs that are not over, the commands that are not read, and the workers that are alive. */
  async health(): Promise<Omit<RunsHealth, 'owner' | 'hosted'> & { workers: string[] }> {
    const [row] = await this.#database.query(
      `SELECT count(*) FILTER (WHERE status = 'running') AS running, count(*) FILTER (WHERE status = 'waiting') AS waiting,
         min(updated_at) FILTER (WHERE status = 'running') AS oldest,
         coalesce(sum(sent - greatest(seen, taken)) FILTER (WHERE status = 'running'), 0) AS unread,
         pg_database_size(current_database()) AS bytes
       FROM statewire.runs WHERE status IN ('running', 'waiting')`,
    )
    // A due time is one of the clock of a process; a command was stored by that of the database.
    const [late] = await this.#database.query(
      `SELECT greatest(
         0,
         $1 - (SELECT min(due) FROM statewire.runs WHERE status = 'waiting' AND due IS NOT NULL),
         $1 - (SELECT min(due) FROM statewire.later_commands),
         1000 * extract(epoch FROM clock_timestamp() - (
           SELECT min(sent_at) FROM statewire.commands JOIN statewire.runs ON id = run
           WHERE status = 'running' AND sent > greatest(seen, taken) AND number > greatest(seen, taken)
         ))
       ) AS lag`,
      Date.now(),
    )
    const alive = await this.workers()
    return {
      running: Number(row?.running),
      waiting: Number(row?.waiting),
      ...(row?.oldest instanceof Date && { oldest: row.oldest }),
      unreadCommands: Number(row?.unread),
      lag: Math.round(Number(late?.lag)),
      bytes: Number(row?.bytes),
      workers: alive.map(({ id }) => id),
    }
  }

  /** Deletes runs that have not changed since a moment, with the chats that end with them or without both. Returns the last segment of each. */
  async prune(
    olderThan: Date,
    statuses: readonly RunStatus[],
    withChats: boolean,
  ): Promise<{ id: string; segment: number }[]> {
    const sql = `DELETE FROM statewire.runs WHERE updated_at < $1 AND status = ANY($2)
         AND ($3 OR NOT EXISTS (SELECT 1 FROM statewire.chats WHERE chats.run = runs.id))
       RETURNING id, leg`
    const rows = await this.#database.query(sql, olderThan, statuses, withChats)
    return rows.map(({ id, leg }) => ({ id: String(id), segment: Number(leg) }))
  }
}
