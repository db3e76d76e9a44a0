import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ConfigurationError } from '../../messages/errors.ts'
import { callable, checkOptions, checkValue, oneOf, rule } from '../../messages/optionRules.ts'
import { ChatRows } from './ChatRows.ts'
import { CommandRows } from './CommandRows.ts'
import { findDriver, type OpenDriver } from './driver.ts'
import { ItemRows } from './ItemRows.ts'
import { RunRows } from './RunRows.ts'
import { SqliteFile, type Synchronous } from './SqliteFile.ts'
import { StreamRows } from './StreamRows.ts'
import { LockedFile } from './storeError.ts'
import { prepareTables } from './tables.ts'

/** How a file is used. */
export type SqliteOptions = {
  /** Opens the file. Default: Node's own SQLite, or else `better-sqlite3` or `libsql`, whichever is installed. */
  driver?: OpenDriver
  /** `full`: a step is on the disk before it takes effect. `normal`: a power failure may lose the last ones. Default: `'full'`. */
  synchronous?: Synchronous
}

/** Where runs are kept: for `openRuns`. */
export type RunStore = { readonly path: string }

/** The tables of an open store. */
export type OpenStore = {
  readonly file: SqliteFile
  readonly runs: RunRows
  readonly items: ItemRows
  readonly stream: StreamRows
  readonly commands: CommandRows
  readonly chats: ChatRows
  readonly openDriver: OpenDriver
  readonly synchronous: Synchronous
}

/** How long a write waits for one of another process. Ours take a few milliseconds. */
const busyMs = 5000

/** A step changes a few rows of about a kilobyte, and SQLite writes whole pages: those of 4096 bytes cost twice as much. */
const pageSize = 1024
const pagesInLog = 4000

/**
 * Keeps runs in one SQLite file. Several processes may open it: one of them runs things, and another takes over when it
 * is gone.
 *
 * @example const runs = await openRuns({ store: sqlite('runs.db'), agents: { janitor } })
 */
export const sqlite = (path: string, options: SqliteOptions = {}): RunStore => {
  checkValue('The path of a store', path, filePath)
  checkOptions<SqliteOptions>('The options of sqlite', options, {
    driver: callable,
    synchronous: oneOf('full', 'normal'),
  })
  const store = { path }
  made.set(store, options)
  return store
}

/** The options of a store are private. */
const made = new WeakMap<RunStore, SqliteOptions>()

/** Opens a store that `sqlite` made. */
export const openStore = async (store: RunStore): Promise<OpenStore> => {
  const options = made.get(store)
  if (!options) throw new ConfigurationError('store must be a store, such as sqlite(path).')
  const { driver = await findDriver(), synchronous = 'full' } = options
  const giveUpAt = performance.now() + busyMs
  for (;;) {
    try {
      return openTables(store.path, driver, synchronous)
    } catch (thrown) {
      if (!(thrown instanceof LockedFile) || performance.now() > giveUpAt) throw thrown
    }
    // Two that make a new file at the same time would wait for each other: SQLite refuses one of them at once.
    await pause(10 + Math.random() * 40)
  }
}

const filePath = rule(
  'the path of a file',
  (value) => typeof value === 'string' && value !== '' && value !== ':memory:',
)

/** Each driver says it in its own way, or makes a file elsewhere. */
const checkFolder = (path: string): void => {
  if (!existsSync(dirname(path)))
    throw new ConfigurationError(`"${path}" cannot be opened: its folder must exist. Make it first.`)
}

const openTables = (path: string, openDriver: OpenDriver, synchronous: Synchronous): OpenStore => {
  checkFolder(path)
  const file = new SqliteFile(path, openDriver)
  try {
    file.exec(`PRAGMA busy_timeout = ${busyMs}`)
    file.exec(`PRAGMA page_size = ${pageSize}`)
    file.exec(`PRAGMA wal_autocheckpoint = ${pagesInLog}`)
    prepareTables(file)
  } catch (thrown) {
    file.close()
    throw thrown
  }
  return {
    file,
    runs: new RunRows(file),
    items: new ItemRows(file),
    stream: new StreamRows(file),
    commands: new CommandRows(file),
    chats: new ChatRows(file),
    openDriver,
    synchronous,
  }
}
