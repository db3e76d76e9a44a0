import type { AgentCommand } from '../../../machines/agent/events.ts'
import { storedCommand } from '../../agent/commands.ts'
import { isJsonObject } from '../../messages/json.ts'
import { jsonIn, numberIn, type Row, type SqliteFile } from './SqliteFile.ts'
import { damaged } from './storeError.ts'

/** A command that waits for the process that runs the agents; `n` is its number in the file. */
export type StoredCommand = { n: number; run: number; command: AgentCommand }

/** The table of commands: what processes that run nothing have to say to those that do. */
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
  if (!isJsonObject(command) || typeof command.type !== 'string') throw damaged('a command is none')
  return { n: numberIn(row, 'n'), run: numberIn(row, 'run'), command: storedCommand(command) }
}
