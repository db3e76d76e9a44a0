import type { AgentCommand } from '../../../machines/agent/events.ts'
import { storedCommand } from '../../agent/commands.ts'
import { isJsonObject } from '../../messages/json.ts'
import { commandConflict, digestOf } from '../runOptions.ts'
import { damaged, jsonIn, numberIn, type Row, type SqliteFile, textIn } from './SqliteFile.ts'

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

  /** Says whether a command with this id was taken before. Another command with the same id is refused. */
  isTaken(run: number, id: string, command: unknown): boolean {
    const row = this.#file.get('SELECT digest FROM command_ids WHERE run = ? AND id = ?', run, id)
    if (row && textIn(row, 'digest') !== digestOf(command)) throw commandConflict(id)
    return row !== undefined
  }

  take(run: number, id: string, command: unknown): void {
    this.#file.run('INSERT INTO command_ids (run, id, digest) VALUES (?, ?, ?)', run, id, digestOf(command))
  }

  /** Lists the commands of all runs in their order. Each is read by itself: a damaged one concerns its own run. */
  all(): { run: number; read(): StoredCommand }[] {
    const rows = this.#file.all('SELECT n, run, data FROM commands ORDER BY n')
    return rows.map((row) => ({ run: numberIn(row, 'run'), read: () => commandOf(row) }))
  }

  of(run: number): StoredCommand[] {
    return this.#file.all('SELECT n, run, data FROM commands WHERE run = ? ORDER BY n', run).map(commandOf)
  }

  /** Counts those that were not read yet. */
  count(): number {
    return numberIn(this.#file.get('SELECT count(*) AS count FROM commands') ?? {}, 'count')
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
