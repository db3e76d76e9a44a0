import { stateName } from '../../machines/agent/states.ts'
import type { SegmentEnd } from '../durable/replay/engine.ts'
import { isRunStatus, type RunInfo } from '../durable/runs.ts'
import { stepsIn, usageIn } from '../durable/snapshots.ts'
import { ConfigurationError, type ErrorData, OrchestrationError } from '../messages/errors.ts'
import { isJsonObject, type JsonValue } from '../messages/json.ts'
import { partFlaw } from '../messages/messageFlaw.ts'
import { type PendingCall, pendingKinds, type Usage } from '../messages/result.ts'
import type { Database, Row } from './Database.ts'

/** The version of the tables: it grows with every change of them. */
const version = 2

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
  // request: a digest of what the run was started with. answer: the JSON Schema of its answer.
  `ALTER TABLE statewire.runs
  ADD COLUMN IF NOT EXISTS request text,
  ADD COLUMN IF NOT EXISTS answer text,
  ADD COLUMN IF NOT EXISTS metadata text,
  ADD COLUMN IF NOT EXISTS tags text[] NOT NULL DEFAULT '{}'`,
  `CREATE INDEX IF NOT EXISTS runs_tags ON statewire.runs USING gin (tags)`,
  `CREATE INDEX IF NOT EXISTS runs_status ON statewire.runs (status, created_at DESC, id DESC)`,
  // The ids of commands that were taken, and a digest of each: one that is sent again does not count.
  `CREATE TABLE IF NOT EXISTS statewire.command_ids (
  run text NOT NULL REFERENCES statewire.runs (id) ON DELETE CASCADE,
  id text NOT NULL,
  digest text NOT NULL,
  PRIMARY KEY (run, id)
)`,
  `CREATE TABLE IF NOT EXISTS statewire.workers (id text PRIMARY KEY, beat_at timestamptz NOT NULL)`,
  // A worker that left in good order: what it ran is taken over at once, and that does not count as a failure.
  `ALTER TABLE statewire.workers ADD COLUMN IF NOT EXISTS left_at timestamptz`,
]

/** Advisory locks: any numbers that no other program uses. */
export const lock = { tables: 7_345_001, sweep: 7_345_002, launch: 7_345_003 }

/** Makes the tables where they are missing; refuses those of a later release. */
export const makeTables = (database: Database): Promise<void> =>
  database.transaction(async (query) => {
    // Two processes that begin at the same time would both find nothing.
    await query('SELECT pg_advisory_xact_lock($1)', lock.tables)
    await query('CREATE SCHEMA IF NOT EXISTS statewire')
    for (const table of tables) await query(table)
    const [found] = await query('SELECT max(version) AS version FROM statewire.version')
    if (found?.version === null) await query('INSERT INTO statewire.version VALUES ($1)', version)
    else if (Number(found?.version) < version)
      await query('UPDATE statewire.version SET version = $1', version)
    else if (Number(found?.version) > version)
      throw new ConfigurationError(
        `The tables of this database are of version ${Number(found?.version)}, and this release of statewire reads version ${version}: install the newer release.`,
      )
  })

/** Columns that the public data of a run is read from. */
export const infoColumns =
  'id, agent, status, state, prompt, step, pending, usage, error, recoveries, forked_from, created_at, updated_at, leg, request, tags, metadata'

/** The public data of a run, the number of its segment, and a digest of what it was started with. */
export type RunRow = RunInfo & { segment: number; request: string | undefined }

/** The public data of a row. */
export const infoOf = ({ segment: _, request: __, ...info }: RunRow): RunInfo => info

/** Reads a row. Another program may have changed it. */
export const runRow = (row: Row): RunRow => {
  const { status, created_at: createdAt, updated_at: updatedAt } = row
  if (!isRunStatus(status) || !(createdAt instanceof Date) || !(updatedAt instanceof Date))
    throw damaged(row.id)
  const usage = fromJson(row.usage)
  const error = fromJson(row.error)
  const metadata = fromJson(row.metadata)
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
    ...(Array.isArray(row.tags) && row.tags.length > 0 && { tags: row.tags.map(String) }),
    ...(isJsonObject(metadata) && { metadata }),
    segment: Number(row.leg),
    request: typeof row.request === 'string' ? row.request : undefined,
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

type SettledColumns = Record<
  'snapshot' | 'result' | 'pending' | 'error' | 'state' | 'usage',
  string | null
> & { step: number | null }

const nothingSettled: SettledColumns = {
  snapshot: null,
  result: null,
  pending: '[]',
  error: null,
  state: null,
  usage: null,
  step: null,
}

/** The columns that the end of a segment is stored in. */
export const settledColumns = (end: SegmentEnd): SettledColumns => {
  if (end.status === 'abandoned') return { ...nothingSettled, error: JSON.stringify(end.error) }
  if (end.status === 'waiting')
    return {
      ...nothingSettled,
      snapshot: JSON.stringify(end.snapshot),
      result: JSON.stringify(end.result),
      pending: JSON.stringify(end.result.pendingApproval.calls),
      state: stateIn(end.snapshot),
      usage: JSON.stringify(usageIn(end.snapshot)) ?? null,
      step: stepsIn(end.snapshot),
    }
  const { output } = end
  return {
    ...nothingSettled,
    result: JSON.stringify(output),
    error: output.status === 'failed' ? JSON.stringify(output.error) : null,
    state: endStates[end.status],
    usage: JSON.stringify(output.usage) ?? null,
  }
}

const endStates = { complete: 'Complete', failed: 'Failed', aborted: 'Aborted' }

export const stateIn = (snapshot: unknown): string => stateName(Object(snapshot).value)
