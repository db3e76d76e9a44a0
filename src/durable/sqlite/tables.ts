import { ConfigurationError } from '../../messages/errors.ts'
import { numberIn, type SqliteFile } from './SqliteFile.ts'

/** "swir": the mark of our files. */
const applicationId = 0x73776972

/** What each version added. A file is brought to the newest one when it is opened. */
const versions: readonly string[] = [
  `
  -- What changes with every step is one row, and no index is touched by it. \`live\`: a process must continue it, or show
  -- its readers its status. \`life\`: how often it was started. \`base\`: the run whose items it builds on, and how many of
  -- each thread. A run without an id was pruned, and others build on its items.
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

  -- A batch of chunks by the number of its last one. \`told\`: the messages shown so far. \`open\`: whether text was shown
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
]

/** Makes a file ours, or migrates it; a file of a newer release, or of another program, is not touched. */
export const prepareTables = (file: SqliteFile): void => {
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

/** All at one moment: another process may be making the file ours right now. */
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
