import type { AgentCommand } from '../../../machines/agent/events.ts'
import { storedCommand } from '../../agent/commands.ts'
import { isJsonObject } from '../../messages/json.ts'
import { commandConflict, digestOf } from '../runOptions.ts'
import { jsonIn, numberIn, type Row, type SqliteFile, textIn } from './SqliteFile.ts'
import { damaged } from './storeErrors.ts'

/** A command that waits for the process that runs the agents; `n` is its number in the file. */
export type StoredCommand = { n: number; run: number; command: AgentCommand }

/** The table of commands: an inbox for the process that owns the runs, which other processes write to. */
export class CommandRows {
  readonly #file: SqliteFile

  constructor(file: SqliteFile) {
    this.#file = file
  }

  /** Stores a command. With a due time, it counts from then on. */
  insert(run: number, command: AgentCommand, due?: number): void {
    this.#file.run(
      'INSERT INTO commands (run, data, due, sent) VALUES (?, ?, ?, ?)',
      run,
      JSON.stringify(command),
      due ?? null,
      Date.now(),
    )
  }

  /** Says whether a command with this id was taken before. Another command with the same id is refused. */
  isTaken(run: number, id: string, command: unknown): boolean {
    const row = this.#file.get('SELECT digest FROM command_ids WHERE run = ? AND id = ?', run, id)
    if (row && textIn(row, 'digest') !== digestOf(command)) throw commandConflict(id)
    return row !== undefined
  }

  take(run: number, id: string, command: unknown): void {
    this.#file.run('INSERT INTO command_ids (run, id, digest) VALUES (?, ?, ?)', run, id, digestOf(command))
  }

  /** Lists the runs that have commands, in the order of the first of each. */
  runs(): number[] {
    return this.#file
      .all(`SELECT run FROM commands WHERE ${countsNow} GROUP BY run ORDER BY min(n)`, Date.now())
      .map((row) => numberIn(row, 'run'))
  }

  of(run: number): StoredCommand[] {
    return this.#file
      .all(`SELECT n, run, data FROM commands WHERE run = ? AND ${countsNow} ORDER BY n`, run, Date.now())
      .map(commandOf)
  }

  /** Counts those that were not read yet, and finds the time from which on the oldest of them counts. */
  unread(now: number): { count: number; since: number | undefined } {
    const rows = [
      this.#file.get('SELECT count(*) AS count, min(sent) AS since FROM commands WHERE due IS NULL'),
      this.#file.get(
        'SELECT count(*) AS count, min(due) AS since FROM commands WHERE due <= ? AND due IS NOT NULL',
        now,
      ),
    ]
    return {
      count: rows.reduce((sum, row) => sum + Number(row?.count), 0),
      since: earliest(rows.map((row) => row?.since)),
    }
  }

  has(n: number): boolean {
    return this.#file.get('SELECT n FROM commands WHERE n = ?', n) !== undefined
  }

  delete(n: number): void {
    this.#file.run('DELETE FROM commands WHERE n = ?', n)
  }
}

/** The earliest of some times; undefined if there is none. A command of an older release has no time. */
export const earliest = (times: readonly unknown[]): number | undefined => {
  const known = times.filter((time) => typeof time === 'number')
  return known.length > 0 ? Math.min(...known) : undefined
}

const countsNow = '(due IS NULL OR due <= ?)'

const commandOf = (row: Row): StoredCommand => {
  const command = jsonIn(row, 'data')
  if (!isJsonObject(command) || typeof command.type !== 'string') throw damaged('a command has no type')
  return { n: numberIn(row, 'n'), run: numberIn(row, 'run'), command: storedCommand(command) }
}
