import { statSync } from 'node:fs'
import { ConfigurationError, OrchestrationError } from '../../messages/errors.ts'
import type { SqliteDriver, SqliteStatement, SqlValue } from './driver.ts'
import { damaged, isPassing, LockedFile, otherFile, replaced, storeError } from './storeErrors.ts'

/** The extent to which a commit waits: for the disk, or only for the operating system. A killed process loses nothing either way. */
export type Synchronous = 'full' | 'normal'

/** Time that a write waits for those of other processes while nothing else of this one can happen. */
export const shortWaitMs = 100

/** A row of a table. Its values are checked where they are read. */
export type Row = Readonly<Record<string, unknown>>

/** An SQLite file: statements are prepared once, failures are errors in words, and changes are transactions. */
export class SqliteFile {
  readonly path: string
  readonly #open: () => SqliteDriver
  #driver: SqliteDriver
  readonly #statements = new Map<string, SqliteStatement>()
  #synchronous: Synchronous | undefined
  #waitMs: number | undefined
  /** Time that writes have waited in vain since the last one that succeeded. */
  #waitedMs = 0
  /** The failure of the last write. */
  #failure: unknown
  /** The file and the write-ahead log that this connection writes to. */
  #identity: string | undefined
  #log: string | undefined
  #isClosed = false

  /** `pragmas`: settings of the connection, which are not part of the file. */
  constructor(path: string, open: (path: string) => SqliteDriver, pragmas: readonly string[] = []) {
    this.path = path
    this.#open = () => {
      const driver = open(path)
      for (const pragma of pragmas) driver.exec(`PRAGMA ${pragma}`)
      return driver
    }
    try {
      this.#driver = this.#open()
    } catch (thrown) {
      throw storeError(path, thrown)
    }
  }

  /** Notes which file and which log the connection writes to. */
  watch(): void {
    this.get('SELECT 1 FROM sqlite_master')
    this.#identity = identityOf(this.path)
    this.#log = identityOf(`${this.path}-wal`)
  }

  exec(sql: string): void {
    this.#attempt(() => this.#driver.exec(sql))
  }

  get(sql: string, ...values: SqlValue[]): Row | undefined {
    return this.#attempt(() => {
      const row = this.#statement(sql).get(...values)
      return typeof row === 'object' && row !== null ? (row as Row) : undefined
    })
  }

  all(sql: string, ...values: SqlValue[]): Row[] {
    return this.#attempt(() => this.#statement(sql).all(...values) as Row[])
  }

  /** Runs a statement, and returns how many rows it changed. */
  run(sql: string, ...values: SqlValue[]): number {
    return this.#attempt(() => Number(this.#statement(sql).run(...values).changes))
  }

  /**
   * Makes a change as one transaction. Without waiting for the disk it may be lost in a power failure, and only then.
   * `waitMs`: the time to wait for a write of another process. All writes that meet the same one share it: nothing else of
   * this process can happen meanwhile.
   */
  write<T>(synchronous: Synchronous, change: () => T, waitMs = shortWaitMs): T {
    this.#reopenIfReplaced()
    if (this.#synchronous !== synchronous) this.exec(`PRAGMA synchronous = ${synchronous}`)
    this.#synchronous = synchronous
    this.#begin(Math.max(0, waitMs - Math.round(this.#waitedMs)))
    try {
      const changed = change()
      this.exec('COMMIT')
      if (this.#isReplaced) throw replaced(this.path)
      this.#failure = undefined
      return changed
    } catch (thrown) {
      this.#failure = thrown
      this.#rollBack()
      throw thrown
    }
  }

  /** The reason why nothing can be written for now; undefined if a write may succeed. */
  obstacle(): Error | undefined {
    try {
      // A locked file is free once a transaction can begin. A full or read-only one shows that only in a write.
      if (isPassing(this.#failure)) this.write('normal', () => this.exec('UPDATE owner SET epoch = epoch'), 0)
      else {
        this.#begin(0)
        this.exec('ROLLBACK')
      }
      return undefined
    } catch (thrown) {
      // Anything else is for the write itself to report.
      return isPassing(thrown) ? thrown : undefined
    }
  }

  /** Copies the file as it is at this moment, while others read and write. The copy is a whole database by itself. */
  copyTo(path: string): void {
    this.run('VACUUM INTO ?', path)
  }

  /** Returns a number that changes when another connection has written. */
  dataVersion(): number {
    if (this.#reopenIfReplaced()) return -1
    return numberIn(this.get('PRAGMA data_version') ?? {}, 'data_version')
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#statements.clear()
    try {
      this.#driver.close()
    } catch (thrown) {
      throw storeError(this.path, thrown)
    }
  }

  #begin(waitMs: number): void {
    this.#waitUpTo(waitMs)
    const begun = performance.now()
    try {
      this.exec('BEGIN IMMEDIATE')
      this.#waitedMs = 0
    } catch (thrown) {
      if (thrown instanceof LockedFile) this.#waitedMs += performance.now() - begun
      throw thrown
    } finally {
      // Reads wait for other processes, too, if one of them opens or closes the file.
      this.#waitUpTo(Math.max(waitMs, shortWaitMs))
    }
  }

  #waitUpTo(ms: number): void {
    if (this.#waitMs !== ms) this.exec(`PRAGMA busy_timeout = ${ms}`)
    this.#waitMs = ms
  }

  /**
   * Says whether the log is no longer the one of this connection. Another SQLite library in this process does not see
   * our locks: when it closes the file, it takes itself for the last one, writes the log into the file and deletes it.
   * What we wrote to the deleted log would be lost.
   */
  get #isReplaced(): boolean {
    return this.#log !== undefined && identityOf(`${this.path}-wal`) !== this.#log
  }

  /**
   * Opens the file again if its log was deleted. Everything up to then is in the file. If the file itself is another one by
   * now, nothing more is written: it would go into a file that no process can open again.
   */
  #reopenIfReplaced(): boolean {
    if (this.#isClosed) return false
    if (this.#identity !== undefined && identityOf(this.path) !== this.#identity) throw otherFile(this.path)
    if (!this.#isReplaced) return false
    this.#statements.clear()
    this.#synchronous = undefined
    this.#waitMs = undefined
    this.#attempt(() => {
      // The old connection first: SQLite would share its outdated index of the log with the new one.
      this.#driver.close()
      this.#driver = this.#open()
    })
    this.watch()
    return true
  }

  #rollBack(): void {
    try {
      this.#driver.exec('ROLLBACK')
    } catch {
      // A failure such as a full disk has rolled back already.
    }
  }

  #statement(sql: string): SqliteStatement {
    const known = this.#statements.get(sql) ?? this.#driver.prepare(sql)
    this.#statements.set(sql, known)
    return known
  }

  #attempt<T>(use: () => T): T {
    if (this.#isClosed) throw new ConfigurationError('These runs were closed: open them again.')
    try {
      return use()
    } catch (thrown) {
      throw storeError(this.path, thrown)
    }
  }
}

export const textIn = (row: Row, column: string): string => {
  const value = row[column]
  if (typeof value !== 'string') throw damaged(`"${column}" is not a string`)
  return value
}

export const numberIn = (row: Row, column: string): number => {
  const value = row[column]
  if (typeof value !== 'number' && typeof value !== 'bigint') throw damaged(`"${column}" is not a number`)
  return Number(value)
}

/** Reads the JSON of a column; undefined if it is empty. */
export const jsonIn = (row: Row, column: string): unknown => {
  if (row[column] === null || row[column] === undefined) return undefined
  try {
    return JSON.parse(textIn(row, column))
  } catch (thrown) {
    if (thrown instanceof OrchestrationError) throw thrown
    throw damaged(`"${column}" is not JSON`)
  }
}

/** The identity of the file at a path: another disk that is mounted there may have the same inode. */
const identityOf = (path: string): string | undefined => {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true })
  return found && `${found.dev}.${found.ino}`
}
