import { ConfigurationError } from '../messages/errors.ts'
import type { Database } from './Database.ts'

/** Grows with every change of the tables. */
const version = 1

/**
 * What DBOS does not store: the status of each run, its commands, and which workers are alive. JSON is stored as text,
 * because that of Postgres has no place for every character.
 */
const tables = [
  `CREATE TABLE IF NOT EXISTS statewire.version (version int NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS statewire.runs (
  id text PRIMARY KEY,
  agent text NOT NULL,
  status text NOT NULL DEFAULT 'running',
  leg int NOT NULL DEFAULT 1,
  start text NOT NULL,
  context text,
  snapshot text,
  result text,
  prompt text NOT NULL,
  state text NOT NULL DEFAULT '',
  step int NOT NULL DEFAULT 0,
  pending text NOT NULL DEFAULT '[]',
  usage text,
  error text,
  sent int NOT NULL DEFAULT 0,
  seen int NOT NULL DEFAULT 0,
  recoveries int NOT NULL DEFAULT 0,
  forked_from text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
)`,
  `CREATE INDEX IF NOT EXISTS runs_created ON statewire.runs (created_at DESC, id DESC)`,
  `CREATE INDEX IF NOT EXISTS runs_running ON statewire.runs (updated_at) WHERE status = 'running'`,
  `CREATE TABLE IF NOT EXISTS statewire.commands (
  run text NOT NULL REFERENCES statewire.runs (id) ON DELETE CASCADE,
  number int NOT NULL,
  command text NOT NULL,
  PRIMARY KEY (run, number)
)`,
  `CREATE TABLE IF NOT EXISTS statewire.workers (id text PRIMARY KEY, beat_at timestamptz NOT NULL)`,
]

/** Any number that no other program locks. */
export const lock = { tables: 7_345_001, sweep: 7_345_002 }

/** Makes the tables where they are missing; refuses those of a later release. */
export const makeTables = (database: Database): Promise<void> =>
  database.transaction(async (query) => {
    // Two processes that begin at once would both find nothing.
    await query('SELECT pg_advisory_xact_lock($1)', lock.tables)
    await query('CREATE SCHEMA IF NOT EXISTS statewire')
    for (const table of tables) await query(table)
    const [found] = await query('SELECT max(version) AS version FROM statewire.version')
    if (found?.version === null) await query('INSERT INTO statewire.version VALUES ($1)', version)
    else if (Number(found?.version) > version)
      throw new ConfigurationError(
        `The tables of this database are of version ${Number(found?.version)}, and this release of statewire reads version ${version}: install the newer release.`,
      )
  })
