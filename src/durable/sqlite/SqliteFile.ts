import { statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import {
  ConfigurationError,
  describeThrown,
  OrchestrationError,
  StatewireError,
} from '../../messages/errors.ts'
import type { SqliteDriver, SqliteStatement, SqlValue } from './driver.ts'

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
  /** The inode of the write-ahead log that this connection writes to. */
  #log: number | undefined
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

  /** Notes which log the connection writes to. */
  watchLog(): void {
    this.get('SELECT 1 FROM sqlite_master')
    this.#log = this.#logNow()
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
   * `waitMs`: the time to wait for a write of another process.
   */
  write<T>(synchronous: Synchronous, change: () => T, waitMs = shortWaitMs): T {
    this.#reopenIfReplaced()
    if (this.#synchronous !== synchronous) this.exec(`PRAGMA synchronous = ${synchronous}`)
    this.#synchronous = synchronous
    if (this.#waitMs !== waitMs) this.exec(`PRAGMA busy_timeout = ${waitMs}`)
    this.#waitMs = waitMs
    this.exec('BEGIN IMMEDIATE')
    try {
      const changed = change()
      this.exec('COMMIT')
      if (this.#isReplaced) throw replaced(this.path)
      return changed
    } catch (thrown) {
      this.#rollBack()
      throw thrown
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

  #logNow(): number | undefined {
    return statSync(`${this.path}-wal`, { throwIfNoEntry: false })?.ino
  }

  /**
   * Says whether the log is no longer the one of this connection. Another SQLite library in this process does not see
   * our locks: when it closes the file, it takes itself for the last one, writes the log into the file and deletes it.
   * What we wrote to the deleted log would be lost.
   */
  get #isReplaced(): boolean {
    return this.#log !== undefined && this.#logNow() !== this.#log
  }

  /** Opens the file again if its log was deleted. Everything up to then is in the file. */
  #reopenIfReplaced(): boolean {
    if (this.#isClosed || !this.#isReplaced) return false
    this.#statements.clear()
    this.#synchronous = undefined
    this.#waitMs = undefined
    this.#attempt(() => {
      // The old connection first: SQLite would share its outdated index of the log with the new one.
      this.#driver.close()
      this.#driver = this.#open()
    })
    this.watchLog()
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

/** The store cannot be written for now: a run continues once it can. */
export class UnavailableStore extends OrchestrationError {}

/** Another connection holds the file: another try may succeed. */
export class LockedFile extends UnavailableStore {}

/** A file that cannot be written: an operator may change that while the runs wait. */
export class ReadOnlyFile extends ConfigurationError {}

/** Says whether a failure of the store may pass by itself, or by what an operator does. */
export const isPassing = (error: Error): boolean =>
  error instanceof UnavailableStore || error instanceof ReadOnlyFile

/** Time that a caller waits for a file that others hold. Our own writes take a few milliseconds. */
const patienceMs = 5000

/** Tries until the file is free. Other work of the process goes on meanwhile. */
export const whenFree = async <T>(attempt: () => T): Promise<T> => {
  const deadline = performance.now() + patienceMs
  for (;;) {
    try {
      return attempt()
    } catch (thrown) {
      if (!(thrown instanceof LockedFile) || performance.now() > deadline) throw thrown
    }
    await pause(10 + Math.random() * 40)
  }
}

const replaced = (path: string): LockedFile =>
  new LockedFile(
    `The log of "${path}" was deleted while it was written: another SQLite library in this process closed the file. Open it with one library only.`,
  )

/** The failures of SQLite that a user can mend, by the number and the name of their codes. */
const failures: readonly (readonly [code: number, name: string, say: (path: string) => StatewireError])[] = [
  [
    13,
    'SQLITE_FULL',
    (path) =>
      new UnavailableStore(
        `The disk is full: "${path}" could not be written. What was acknowledged is stored; make room, and the runs continue.`,
      ),
  ],
  [
    8,
    'SQLITE_READONLY',
    (path) => new ReadOnlyFile(`"${path}" cannot be written: the file, its folder or its disk is read-only.`),
  ],
  [
    5,
    'SQLITE_BUSY',
    (path) =>
      new LockedFile(
        `"${path}" is locked: another program holds it. What was acknowledged is stored; the runs continue when that program lets it go.`,
      ),
  ],
  [
    11,
    'SQLITE_CORRUPT',
    (path) =>
      new OrchestrationError(
        `"${path}" is damaged. Take a backup of it, and mend it with "sqlite3 ${path} .recover".`,
      ),
  ],
  [
    26,
    'SQLITE_NOTADB',
    (path) => new ConfigurationError(`"${path}" is not an SQLite database: give another path.`),
  ],
  [
    14,
    'SQLITE_CANTOPEN',
    (path) =>
      new ConfigurationError(`"${path}" cannot be opened: its folder must exist, and you must own it.`),
  ],
  [
    10,
    'SQLITE_IOERR',
    (path) =>
      new UnavailableStore(
        `The disk failed while "${path}" was used. What was acknowledged is stored; check the disk. The runs continue when it works.`,
      ),
  ],
]

/** Says in words what a driver threw. Each driver has its own way to give SQLite's code. */
export const storeError = (path: string, thrown: unknown): StatewireError => {
  if (thrown instanceof StatewireError) return thrown
  const { code, errcode, rawCode }: { code?: unknown; errcode?: unknown; rawCode?: unknown } = Object(thrown)
  const number = [errcode, rawCode].find((each) => typeof each === 'number')
  const known = failures.find(([primary, name]) =>
    // The higher bits say which kind of the failure it is.
    typeof number === 'number' ? (number & 0xff) === primary : String(code).startsWith(name),
  )
  const error =
    known?.[2](path) ?? new OrchestrationError(`The store "${path}" failed: ${describeThrown(thrown)}`)
  error.cause = thrown
  return error
}

/** Data of a store that is not as it was written: another try finds it in the same state. */
export class DamagedData extends OrchestrationError {}

export const damaged = (what: string): DamagedData =>
  new DamagedData(`The stored data is damaged: ${what}. Restore it from a backup.`)
