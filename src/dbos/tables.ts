import { stateName } from '../../machines/agent/states.ts'
import { isRunStatus, type RunInfo } from '../durable/runs.ts'
import { ConfigurationError, type ErrorData, OrchestrationError } from '../messages/errors.ts'
import { isJsonObject, type JsonValue } from '../messages/json.ts'
import { partFlaw } from '../messages/messageFlaw.ts'
import { type PendingCall, pendingKinds, type Usage } from '../messages/result.ts'
import type { Database, Row } from './Database.ts'

/** The version of the tables: it grows with every change of them. */
const version = 1

/**
 * The tables for what DBOS does not store: the status of each run, its commands, and which workers are alive. A `leg` is
 * a segment of a run. JSON is stored as text, because that of Postgres has no place for every character.
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

/** Advisory locks: any numbers that no other program uses. */
export const lock = { tables: 7_345_001, sweep: 7_345_002 }

/** Makes the tables where they are missing; refuses those of a later release. */
export const makeTables = (database: Database): Promise<void> =>
  database.transaction(async (query) => {
    // Two processes that begin at the same time would both find nothing.
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

/** Columns that the public data of a run is read from. */
export const infoColumns =
  'id, agent, status, state, prompt, step, pending, usage, error, recoveries, forked_from, created_at, updated_at, leg'

/** The public data of a run, and the number of its segment. */
export type RunRow = RunInfo & { segment: number }

/** Reads a row. Another program may have changed it. */
export const runRow = (row: Row): RunRow => {
  const { status, created_at: createdAt, updated_at: updatedAt } = row
  if (!isRunStatus(status) || !(createdAt instanceof Date) || !(updatedAt instanceof Date))
    throw damaged(row.id)
  const usage = fromJson(row.usage)
  const error = fromJson(row.error)
  return {
    id: textOf(row.id),
    agent: textOf(row.agent),
    status,
    // Rows of older releases hold the path of the innermost state.
    state: stateName(textOf(row.state)),
    prompt: textOf(row.prompt),
    step: Number(row.step),
    // Calls that were decided on stay listed until the segment that got the decision is over.
    pending: status === 'waiting' ? pendingOf(row.pending) : [],
    ...(isJsonObject(usage) && { usage: usage as Usage }),
    ...(isErrorData(error) && { error }),
    createdAt,
    updatedAt,
    recoveries: Number(row.recoveries),
    ...(typeof row.forked_from === 'string' && { forkedFrom: row.forked_from }),
    segment: Number(row.leg),
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Reads a column of JSON; undefined if it is empty, or not JSON. */
export const fromJson = (text: unknown): JsonValue | undefined => {
  if (typeof text !== 'string') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const pendingOf = (text: unknown): PendingCall[] => {
  const calls = fromJson(text)
  return Array.isArray(calls) ? calls.filter(isPending) : []
}

const isPending = (call: JsonValue): call is PendingCall =>
  isJsonObject(call) && partFlaw(call) === undefined && pendingKinds.some((kind) => kind === call.kind)

export const isErrorData = (value: unknown): value is ErrorData =>
  isJsonObject(value) && typeof value.name === 'string' && typeof value.message === 'string'

export const damaged = (id: unknown): OrchestrationError =>
  new OrchestrationError(
    `The stored run "${textOf(id)}" is damaged: fork an earlier step of it, or start a new one.`,
  )
