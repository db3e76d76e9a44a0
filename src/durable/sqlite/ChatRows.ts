import { numberIn, type SqliteFile, textIn } from './SqliteFile.ts'

/** A chat as it is stored: the run that its branch ends with, and how much of the conversation after it counts. */
export type ChatRow = { id: string; agent: string; run: number | undefined; length: number | undefined }

/** The table of chats. */
export class ChatRows {
  readonly #file: SqliteFile

  constructor(file: SqliteFile) {
    this.#file = file
  }

  get(id: string): ChatRow | undefined {
    const row = this.#file.get('SELECT id, agent, run, length FROM chats WHERE id = ?', id)
    return (
      row && {
        id: textIn(row, 'id'),
        agent: textIn(row, 'agent'),
        run: row.run === null ? undefined : numberIn(row, 'run'),
        length: row.length === null ? undefined : numberIn(row, 'length'),
      }
    )
  }

  /** Finds the chat whose last turn is this run. */
  ofRun(run: number): string | undefined {
    const row = this.#file.get('SELECT id FROM chats WHERE run = ? LIMIT 1', run)
    return row && textIn(row, 'id')
  }

  /** Finds the chat of an agent that had the last turn. */
  newest(agent: string): string | undefined {
    const row = this.#file.get(
      'SELECT id FROM chats WHERE agent = ? AND run IS NOT NULL ORDER BY run DESC LIMIT 1',
      agent,
    )
    return row && textIn(row, 'id')
  }

  /** Stores a chat; false if there is one with this id. */
  insert({ id, agent, run, length }: ChatRow): boolean {
    const changes = this.#file.run(
      'INSERT INTO chats (id, agent, run, length) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
      id,
      agent,
      run ?? null,
      length ?? null,
    )
    return changes > 0
  }

  /** Ends a chat with another run; false if another process did so since the chat was read. */
  advance({ id, run }: ChatRow, next: number): boolean {
    const changes = this.#file.run(
      'UPDATE chats SET run = ?, length = NULL WHERE id = ? AND run IS ?',
      next,
      id,
      run ?? null,
    )
    return changes > 0
  }
}
