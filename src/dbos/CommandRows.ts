import type { AgentCommand } from '../../machines/agent/events.ts'
import { storedCommand } from '../agent/commands.ts'
import { checkStoredCommand, RunOver } from '../durable/commands.ts'
import type { NumberedCommand } from '../durable/replay/engine.ts'
import { commandConflict, digestOf, unknownRun } from '../durable/runOptions.ts'
import { endStatuses } from '../durable/runs.ts'
import { checkTaskCommand, type StoredTask } from '../durable/tasks.ts'
import type { ErrorData } from '../messages/errors.ts'
import { isJsonObject } from '../messages/json.ts'
import type { Database, Query } from './Database.ts'
import { fromJson, infoColumns, pendingOf, type RunRow, runRow } from './tables.ts'
import { tasksFrom } from './taskList.ts'

/** A segment that begins: it is to be put into the queue of its agent. */
export type DueSegment = { id: string; agent: string; segment: number }

/** The tables of commands. Each is judged and stored under the lock of its run, so none gets lost. */
export class CommandRows {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Reads the commands that have come after a number, and notes that a worker has them. */
  async after(id: string, after: number): Promise<NumberedCommand[]> {
    const { query } = this.#database
    const commands = await unseen(query, id, after)
    const last = commands.at(-1)
    if (last)
      await query('UPDATE statewire.runs SET taken = greatest(taken, $2) WHERE id = $1', id, last.number)
    return commands
  }

  /**
   * Reads the last commands of a run that is about to be complete, those that are due by now included: no worker may have
   * looked for them since. If there are none, the run takes no more from now on.
   */
  last(id: string, after: number): Promise<NumberedCommand[]> {
    return this.#database.transaction(async (query) => {
      // A run that was deleted meanwhile has no row.
      const [found] = await query('SELECT id FROM statewire.runs WHERE id = $1 FOR UPDATE', id)
      if (found) await takeDueOf(query, id)
      const commands = await unseen(query, id, after)
      if (commands.length === 0) await query('UPDATE statewire.runs SET closed = true WHERE id = $1', id)
      return commands
    })
  }

  /**
   * Enqueues a command that the run, or the task of it that is named, can take; one whose id was taken before does not
   * count, and one with a due time counts from then on. Returns the segment that it begins, if the run has waited for it.
   */
  enqueue(
    id: string,
    given: AgentCommand,
    { commandId, due, task }: { commandId: string | undefined; due?: number; task?: string },
  ): Promise<DueSegment | undefined> {
    return this.#database.transaction(async (query) => {
      const run = await lockedRun(query, id)
      const ofRun = due === undefined ? given : [given, due]
      const request = task === undefined ? ofRun : [task, ofRun]
      if (commandId !== undefined && (await isTaken(query, id, commandId, request))) return undefined
      const command = await checked(query, run, given, task)
      if (due === undefined || due <= Date.now()) return await enqueue(query, run, command)
      const later = 'INSERT INTO statewire.later_commands (run, due, command) VALUES ($1, $2, $3)'
      await query(later, id, due, JSON.stringify(command))
      // It is a change of the run, which is not pruned with what is older.
      await query('UPDATE statewire.runs SET updated_at = clock_timestamp() WHERE id = $1', id)
      return undefined
    })
  }

  /** Notes why a run does not continue for now: its agent refuses it. One that is to be aborted ends with that. */
  block(id: string, segment: number, { message }: ErrorData): Promise<void> {
    return this.#database.transaction(async (query) => {
      const run = await lockedRun(query, id)
      if (run.segment !== segment || run.status !== 'running') return
      await query(
        'UPDATE statewire.runs SET blocked = $2, updated_at = clock_timestamp() WHERE id = $1',
        id,
        message,
      )
      const commands = await unseen(query, id, run.seen)
      if (commands.some(({ command }) => command.type === 'abort')) await abandon(query, id, message)
    })
  }

  /** Enqueues commands whose time has come. Returns the segments that begin with them. */
  async takeDue(now: number, most: number): Promise<DueSegment[]> {
    const found = await this.#database.query(
      'SELECT number, run FROM statewire.later_commands WHERE due <= $1 ORDER BY due, number LIMIT $2',
      now,
      most,
    )
    const segments: DueSegment[] = []
    for (const { number, run } of found) {
      const begun = await this.#database.transaction(async (query) => {
        const row = await lockedRun(query, String(run))
        const [taken] = await query(
          'DELETE FROM statewire.later_commands WHERE number = $1 RETURNING command',
          number,
        )
        const command = fromJson(taken?.command)
        // Another worker was faster, or the run is over by now.
        if (!isJsonObject(command) || endStatuses.includes(row.status) || row.isClosed) return undefined
        return await enqueue(query, row, storedCommand(command))
      })
      if (begun) segments.push(begun)
    }
    return segments
  }
}

type LockedRun = RunRow & {
  tasks: StoredTask[]
  isClosed: boolean
  sent: number
  seen: number
}

/** Reads a run for a change: no one else changes it before the end of the transaction. */
const lockedRun = async (query: Query, id: string): Promise<LockedRun> => {
  const [row] = await query(
    `SELECT ${infoColumns}, tasks, sent, seen, closed FROM statewire.runs WHERE id = $1 FOR UPDATE`,
    id,
  )
  if (!row) throw unknownRun(id)
  const run = runRow(row)
  const isOpen = run.status === 'running' || run.status === 'waiting'
  return {
    ...run,
    // Until the first step of a segment is stored, what the run has waited for can be decided on.
    pending: isOpen ? pendingOf(row.asks ?? row.pending) : [],
    tasks: tasksFrom(run, row.tasks),
    isClosed: row.closed === true,
    sent: Number(row.sent),
    seen: Number(row.seen),
  }
}

/** Checks a command for a run, together with those that it has not seen yet. */
const checked = async (
  query: Query,
  run: LockedRun,
  given: AgentCommand,
  taskId: string | undefined,
): Promise<AgentCommand> => {
  const enqueued = (await unseen(query, run.id, run.seen)).map(({ command }) => command)
  const task = run.tasks.find(({ info }) => info.id === taskId)
  if (taskId !== undefined && !task) throw unknownRun(taskId)
  const command = task ? checkTaskCommand(given, task, enqueued) : checkStoredCommand(given, run, enqueued)
  if (run.isClosed) throw new RunOver(`The run "${run.id}" is about to end, and takes no more commands.`)
  return command
}

/** Adds a command to those of a run. A run that waits continues with it. */
const enqueue = async (
  query: Query,
  { id, agent, status, segment, sent, blocked }: LockedRun,
  command: AgentCommand,
): Promise<DueSegment | undefined> => {
  const isWaiting = status === 'waiting'
  const next = segment + (isWaiting ? 1 : 0)
  await query(
    'INSERT INTO statewire.commands (run, number, command) VALUES ($1, $2, $3)',
    id,
    sent + 1,
    JSON.stringify(command),
  )
  await query(
    `UPDATE statewire.runs
     SET sent = sent + 1, status = 'running', leg = $2, asks = CASE WHEN $3 THEN NULL ELSE asks END,
       updated_at = clock_timestamp()
     WHERE id = $1`,
    id,
    next,
    isWaiting,
  )
  // A run that its agent refuses can still be aborted.
  if (command.type === 'abort' && typeof blocked === 'string') await abandon(query, id, blocked)
  return isWaiting ? { id, agent, segment: next } : undefined
}

/** Adds the commands whose time has come to those of a run that is under way. */
const takeDueOf = async (query: Query, id: string): Promise<void> => {
  const run = await lockedRun(query, id)
  if (run.status !== 'running' || run.isClosed) return
  const due = await query(
    'DELETE FROM statewire.later_commands WHERE run = $1 AND due <= $2 RETURNING number, due, command',
    id,
    Date.now(),
  )
  const inOrder = due.sort((a, b) => Number(a.due) - Number(b.due) || Number(a.number) - Number(b.number))
  for (const [index, { command }] of inOrder.entries()) {
    const found = fromJson(command)
    if (isJsonObject(found)) await enqueue(query, { ...run, sent: run.sent + index }, storedCommand(found))
  }
}

/** Ends a run that its agent refuses. */
const abandon = async (query: Query, id: string, message: string): Promise<void> => {
  const error: ErrorData = { name: 'ConfigurationError', message }
  await query(
    `UPDATE statewire.runs SET status = 'abandoned', error = $2, blocked = NULL WHERE id = $1`,
    id,
    JSON.stringify(error),
  )
}

/** Notes the id of a command, and says whether it was noted before. Another command with the same id is refused. */
const isTaken = async (query: Query, run: string, id: string, command: unknown): Promise<boolean> => {
  const digest = digestOf(command)
  const [row] = await query('SELECT digest FROM statewire.command_ids WHERE run = $1 AND id = $2', run, id)
  if (row && row.digest !== digest) throw commandConflict(id)
  if (!row) await query('INSERT INTO statewire.command_ids VALUES ($1, $2, $3)', run, id, digest)
  return row !== undefined
}

/** Reads the commands of a run that have come after a number. */
const unseen = async (query: Query, run: string, after: number): Promise<NumberedCommand[]> => {
  const rows = await query(
    'SELECT number, command FROM statewire.commands WHERE run = $1 AND number > $2 ORDER BY number',
    run,
    after,
  )
  return rows.flatMap(({ number, command }) => {
    const found = fromJson(command)
    return isJsonObject(found) ? [{ number: Number(number), command: storedCommand(found) }] : []
  })
}
