import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { ConfigurationError } from '../../messages/errors.ts'
import {
  callable,
  checkOptions,
  checkValue,
  oneOf,
  orWrite,
  type Rule,
  rule,
} from '../../messages/optionRules.ts'
import { ChatRows } from './ChatRows.ts'
import { StreamRows } from './ChunkLog.ts'
import { CommandRows } from './CommandRows.ts'
import { findDriver, type OpenDriver } from './driver.ts'
import { ItemRows } from './Items.ts'
import { RunRows } from './RunRows.ts'
import { numberIn, SqliteFile, type Synchronous, shortWaitMs } from './SqliteFile.ts'
import { whenFree } from './whenFree.ts'

/** Options of {@link sqlite}. */
export type SqliteOptions = {
  /** Opens the file. Default: Node's own SQLite, or else `better-sqlite3` or `libsql`, whichever is installed. */
  driver?: OpenDriver
  /** `full`: a step is on the disk before it takes effect. `normal`: a power failure may lose the last ones. Default: `'full'`. */
  synchronous?: Synchronous
}

/** A place for runs, for `openRuns`. */
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

/** A step changes a few rows of about a kilobyte, and SQLite writes whole pages: those of 4096 bytes cost twice as much. */
const pageSize = 1024
const pagesInLog = 4000

/**
 * Keeps runs in one SQLite file. Several processes may open it: one of them runs the agents, and another takes over when
 * it is gone.
 *
 * @example const runs = await openRuns({ store: sqlite('runs.db'), agents: { janitor } })
 */
export const sqlite = (path: string, options: SqliteOptions = {}): RunStore => {
  // The sentence on a path that is not one of a file says what to write already.
  checkValue(
    'The path of a store',
    path,
    orWrite(filePath, (value) => {
      if (value instanceof URL) return 'sqlite(fileURLToPath(url))'
      return typeof value === 'string' ? undefined : "sqlite('runs.db')"
    }),
  )
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
export const openStore = async (store: RunStore, path = store.path): Promise<OpenStore> => {
  const options = made.get(store)
  if (!options) throw new ConfigurationError('store must be a store, such as sqlite(path).')
  const { driver = await findDriver(), synchronous = 'full' } = options
  // Two that make a new file at the same time would wait for each other: SQLite refuses one of them at once.
  return whenFree(() => openTables(path, driver, synchronous))
}

const path = rule('the path of a file', (value) => typeof value === 'string')

/** The path of a file. SQLite's own word for none, `:memory:`, is refused: such runs would not survive their process. */
export const filePath: Rule = (name, value) => {
  if (typeof value !== 'string') return path(name, value)
  if (value === '') return `${name} is empty: write the path of a file, such as runs.db.`
  if (/^(file:)?:memory:/.test(value))
    return `${name} cannot be ":memory:": stored runs are there to survive their process. Write a path, such as sqlite('runs.db'); agent.send stores nothing.`
  if (value.startsWith('file:')) return `${name} cannot be a URL: write the path alone, without file:.`
  if (/^\w{2,}:\/\//.test(value))
    return `${name} cannot be a URL: write the path of a file. For Postgres there is dbosRuns of statewire/dbos.`
  if (value.startsWith('~/'))
    return `${name} begins with ~, which only a shell replaces: write join(homedir(), 'runs.db').`
  return undefined
}

/** Refuses a missing folder. Each driver would report it in its own way, or make a file elsewhere. */
export const checkFolder = (path: string): void => {
  if (!existsSync(dirname(path)))
    throw new ConfigurationError(`"${path}" cannot be opened: its folder must exist. Make it first.`)
}

/**
 * The path of the file itself. The right to run its agents goes with the file, so every path that leads to it must give
 * the same one.
 */
const realPath = (path: string): string => {
  if (existsSync(path)) return realpathSync(path)
  // A link to a file that is still to be made.
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink())
    return realPath(resolve(dirname(path), readlinkSync(path)))
  checkFolder(path)
  return join(realpathSync(dirname(path)), basename(path))
}

/** Refuses a file with two names: each has a log of its own, and SQLite would damage the file. */
const checkLinks = (path: string): void => {
  const entry = statSync(path, { throwIfNoEntry: false })
  if (entry?.isDirectory())
    throw new ConfigurationError(`"${path}" is a folder: write the path of a file in it, such as runs.db.`)
  if ((entry?.nlink ?? 1) > 1)
    throw new ConfigurationError(
      `"${path}" has another name (a hard link), which SQLite cannot keep apart: delete one, or copy the file with runs.backup(path).`,
    )
}

const openTables = (given: string, openDriver: OpenDriver, synchronous: Synchronous): OpenStore => {
  const path = realPath(given)
  checkLinks(path)
  const file = new SqliteFile(path, openDriver, [
    `busy_timeout = ${shortWaitMs}`,
    `page_size = ${pageSize}`,
    `wal_autocheckpoint = ${pagesInLog}`,
    // On macOS, fsync alone leaves what was written in the cache of the disk. Elsewhere this changes nothing.
    'fullfsync = ON',
    'checkpoint_fullfsync = ON',
  ])
  try {
    prepareTables(file)
    file.watch()
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

/** The mark of our files: "swir". */
const applicationId = 0x73776972

/** The changes of each version of the tables. A file is brought to the newest one when it is opened. */
const versions: readonly string[] = [
  `
  -- Every step changes one row, and touches no index. \`live\`: the run is unsettled, so a process must continue it, or
  -- show its readers its status. \`life\`: its incarnation. \`head\`: its packed snapshot. \`base\`: the run whose items it
  -- builds on, and how many of each thread. A run without an id was pruned, and others build on its items.
  CREATE TABLE runs (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT UNIQUE,
    agent TEXT NOT NULL,
    status TEXT NOT NULL,
    live INTEGER NOT NULL,
    life INTEGER NOT NULL,
    recoveries INTEGER NOT NULL,
    hidden INTEGER NOT NULL,
    step INTEGER NOT NULL,
    state TEXT NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    prompt TEXT NOT NULL,
    forked_from TEXT,
    base INTEGER,
    counts TEXT,
    usage TEXT,
    pending TEXT,
    error TEXT,
    head TEXT NOT NULL
  );
  CREATE INDEX live_runs ON runs (n) WHERE live = 1;
  CREATE INDEX runs_by_base ON runs (base) WHERE base IS NOT NULL;

  CREATE TABLE contexts (run INTEGER PRIMARY KEY, data TEXT NOT NULL);

  CREATE TABLE items (
    run INTEGER NOT NULL,
    thread INTEGER NOT NULL,
    idx INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (run, thread, idx)
  ) WITHOUT ROWID;

  -- A batch of chunks by the number of its last one. \`told\`: messages delivered so far. \`open\`: whether text was shown
  -- since the last of them.
  CREATE TABLE stream (
    run INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    life INTEGER NOT NULL,
    told INTEGER NOT NULL,
    open INTEGER NOT NULL,
    chunks TEXT NOT NULL,
    PRIMARY KEY (run, seq)
  ) WITHOUT ROWID;

  CREATE TABLE commands (n INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL, data TEXT NOT NULL);

  -- \`length\`: how much of the conversation after its run belongs to the chat; null for all.
  CREATE TABLE chats (id TEXT PRIMARY KEY, agent TEXT NOT NULL, run INTEGER, length INTEGER) WITHOUT ROWID;
  `,
  `
  -- The process that runs the agents. Each one that takes over raises \`epoch\`, and every write of an owner checks it.
  CREATE TABLE owner (n INTEGER PRIMARY KEY CHECK (n = 1), epoch INTEGER NOT NULL, agents TEXT NOT NULL);

  -- \`request\`: a digest of what the run was started with. \`blocked\`: why it does not continue for now. \`answer\`: the JSON
  -- Schema of its answer.
  ALTER TABLE runs ADD COLUMN request TEXT;
  ALTER TABLE runs ADD COLUMN blocked TEXT;
  ALTER TABLE runs ADD COLUMN metadata TEXT;
  ALTER TABLE runs ADD COLUMN answer TEXT;
  CREATE INDEX runs_by_status ON runs (status, n) WHERE id IS NOT NULL;

  CREATE TABLE tags (tag TEXT NOT NULL, run INTEGER NOT NULL, PRIMARY KEY (tag, run)) WITHOUT ROWID;
  CREATE INDEX tags_by_run ON tags (run);
  CREATE INDEX chats_by_run ON chats (run);

  -- The ids of commands that were taken, and a digest of each: one that is sent again does not count.
  CREATE TABLE command_ids (
    run INTEGER NOT NULL,
    id TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (run, id)
  ) WITHOUT ROWID;
  CREATE INDEX commands_by_run ON commands (run);
  `,
  `
  -- \`due\`: the time at which a run that waits continues by itself, or from which on a command counts.
  ALTER TABLE runs ADD COLUMN due INTEGER;
  ALTER TABLE commands ADD COLUMN due INTEGER;
  CREATE INDEX runs_by_due ON runs (due) WHERE due IS NOT NULL;
  CREATE INDEX commands_by_due ON commands (due) WHERE due IS NOT NULL;
  `,
  `
  CREATE INDEX runs_by_agent ON runs (agent, n) WHERE id IS NOT NULL;
  `,
  `
  -- \`sent\`: the time at which a command was stored.
  ALTER TABLE commands ADD COLUMN sent INTEGER;
  CREATE INDEX commands_by_sent ON commands (sent) WHERE due IS NULL;
  `,
]

/** Makes the tables of a new file, or migrates them; a file of a newer release, or of another program, is not touched. */
const prepareTables = (file: SqliteFile): void => {
  const { version, isForeign, isUsed } = lookAt(file)
  if (isForeign && (version > 0 || isUsed))
    throw new ConfigurationError(
      `"${file.path}" is a database of another program: give the runs their own file.`,
    )
  if (version > versions.length)
    throw new ConfigurationError(
      `"${file.path}" was written by a newer release of statewire (its version is ${version}, this release knows ${versions.length}): update statewire.`,
    )
  const { journal_mode: mode } = file.get('PRAGMA journal_mode = WAL') ?? {}
  if (mode !== 'wal')
    throw new ConfigurationError(
      `"${file.path}" is on a disk that SQLite cannot share between processes: use a local one.`,
    )
  if (version < versions.length) migrate(file)
}

/** Looks at a file in one transaction: another process may be making its tables right now. */
const lookAt = (file: SqliteFile): { version: number; isForeign: boolean; isUsed: boolean } => {
  const pragma = (name: string) => numberIn(file.get(`PRAGMA ${name}`) ?? {}, name)
  file.exec('BEGIN')
  try {
    const isUsed = file.get('SELECT 1 FROM sqlite_master') !== undefined
    return { version: pragma('user_version'), isForeign: pragma('application_id') !== applicationId, isUsed }
  } finally {
    file.exec('COMMIT')
  }
}

const migrate = (file: SqliteFile): void =>
  file.write('full', () => {
    // Another process may have done it meanwhile.
    const version = numberIn(file.get('PRAGMA user_version') ?? {}, 'user_version')
    for (const sql of versions.slice(version)) file.exec(sql)
    file.exec(`PRAGMA application_id = ${applicationId}`)
    file.exec(`PRAGMA user_version = ${versions.length}`)
  })
