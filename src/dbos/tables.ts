import { stateName } from '../../machines/agent/states.ts'
import type { HostedFrom } from '../agent/options.ts'
import type { SegmentEnd } from '../durable/replay/engine.ts'
import { isRunStatus, type RunInfo } from '../durable/runs.ts'
import { stepsIn, usageIn } from '../durable/snapshots.ts'
import { ConfigurationError, type ErrorData, errorDataOf, OrchestrationError } from '../messages/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'
import { partFlaw } from '../messages/messageFlaw.ts'
import { type PendingCall, pendingKinds, type Usage } from '../messages/result.ts'
import type { Database, Query, Row } from './Database.ts'

/** The version of the tables: it grows with every change of them. */
const version = 6

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
  // closed: the run is about to be complete, and takes no more commands.
  `ALTER TABLE statewire.runs ADD COLUMN IF NOT EXISTS closed boolean NOT NULL DEFAULT false`,
  // due: the moment at which a run that waits continues by itself, in milliseconds.
  `ALTER TABLE statewire.runs ADD COLUMN IF NOT EXISTS due bigint`,
  `CREATE INDEX IF NOT EXISTS runs_due ON statewire.runs (due) WHERE status = 'waiting' AND due IS NOT NULL`,
  // Commands that count from a moment on.
  `CREATE TABLE IF NOT EXISTS statewire.later_commands (
  number bigserial PRIMARY KEY,
  run text NOT NULL REFERENCES statewire.runs (id) ON DELETE CASCADE,
  due bigint NOT NULL,
  command text NOT NULL
)`,
  `CREATE INDEX IF NOT EXISTS later_commands_due ON statewire.later_commands (due)`,
  // length: the messages of a fork, which are the first ones of the conversation after the run.
  `CREATE TABLE IF NOT EXISTS statewire.chats (
  id text PRIMARY KEY,
  agent text NOT NULL,
  run text REFERENCES statewire.runs (id) ON DELETE CASCADE,
  length int
)`,
  `CREATE INDEX IF NOT EXISTS chats_run ON statewire.chats (run)`,
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
  // The names of its agents; null for a worker of an older release.
  `ALTER TABLE statewire.workers ADD COLUMN IF NOT EXISTS agents text[]`,
  // taken: the number of the last command that a worker has read. sent_at: null for a command of an older release.
  `ALTER TABLE statewire.runs ADD COLUMN IF NOT EXISTS taken int NOT NULL DEFAULT 0`,
  `ALTER TABLE statewire.commands ADD COLUMN IF NOT EXISTS sent_at timestamptz`,
  `ALTER TABLE statewire.commands ALTER COLUMN sent_at SET DEFAULT clock_timestamp()`,
  // blocked: the reason why its agent refuses the run.
  `ALTER TABLE statewire.runs ADD COLUMN IF NOT EXISTS blocked text`,
  // tasks: the background agents of the run. asks: the calls that can be decided on while a part of the run works.
  `ALTER TABLE statewire.runs ADD COLUMN IF NOT EXISTS tasks text, ADD COLUMN IF NOT EXISTS asks text`,
]

/** Advisory locks: any numbers that no other program uses. */
export const lock = { tables: 7_345_001, sweep: 7_345_002, launch: 7_345_003 }

/** Makes the tables where they are missing; refuses those of a later release. */
export const makeTables = (database: Database): Promise<void> =>
  database.transaction(async (query) => {
    // Two processes that begin at the same time would both find nothing.
    await query('SELECT pg_advisory_xact_lock($1)', lock.tables)
    // A change of tables waits for every transaction on them, and others for it: a worker that joins must not make any.
    if ((await versionIn(query)) === version) return
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

/** Checks that there are tables to read: a process without agents makes none in a database that may be another program's. */
export const checkTables = async (database: Database): Promise<void> => {
  const found = await versionIn(database.query)
  if (found === undefined) throw database.noRuns()
  if (found !== version) await makeTables(database)
}

/** The version of the tables; undefined if there are none. */
const versionIn = async (query: Query): Promise<number | undefined> => {
  const [made] = await query("SELECT to_regclass('statewire.version') AS name")
  if (made?.name === null) return undefined
  const [current] = await query('SELECT max(version) AS version FROM statewire.version')
  return Number(current?.version)
}

/** Bytes of a row that is read for its public data: a larger one is damaged. */
const mostBytes = 16 * 1024 * 1024

/** Columns without a limit. Another program may have written anything into them. */
const largeColumns = [
  'agent',
  'state',
  'prompt',
  'pending',
  'asks',
  'usage',
  'error',
  'metadata',
  'forked_from',
  'request',
  'blocked',
]
const size = [
  ...largeColumns.map((each) => `coalesce(octet_length(${each}), 0)`),
  'pg_column_size(tags)',
].join(' + ')
const unlessLarge = (column: string) => `CASE WHEN ${size} <= ${mostBytes} THEN ${column} END AS ${column}`

/** Columns that the public data of a run is read from. */
export const infoColumns = [
  'id, status, step, recoveries, created_at, updated_at, leg, due',
  `${size} <= ${mostBytes} AS is_whole`,
  ...[...largeColumns, 'tags'].map(unlessLarge),
].join(', ')

/** A run that is to be started. */
export type NewRun = {
  id: string
  agent: string
  from: HostedFrom
  context: unknown
  prompt: string
  forkedFrom?: string
  /** A digest of what it was started with; undefined for a fork. */
  request?: string | undefined
  /** The JSON Schema of its answer. */
  answer?: JsonObject | undefined
  metadata?: JsonObject | undefined
  tags?: readonly string[] | undefined
  /** The chat that it is a turn of, and the run that the chat ends with; undefined for a new chat. */
  chat?: { id: string; end: { run: string | null } | undefined }
}

/** The public data of a run, the number of its segment, and a digest of what it was started with. */
export type RunRow = RunInfo & { segment: number; request: string | undefined }

/** The public data of a row. */
export const infoOf = ({ segment: _, request: __, ...info }: RunRow): RunInfo => info

/** Reads a row. Another program may have changed it. */
export const runRow = (row: Row): RunRow => {
  const { status, created_at: createdAt, updated_at: updatedAt } = row
  const isDated = createdAt instanceof Date && updatedAt instanceof Date
  if (!isRunStatus(status) || !isDated || row.is_whole !== true) throw damaged(row.id)
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
    pending: status === 'waiting' ? pendingOf(row.pending) : status === 'running' ? pendingOf(row.asks) : [],
    ...(isJsonObject(usage) && { usage: usage as Usage }),
    ...(isErrorData(error) && { error }),
    createdAt,
    updatedAt,
    ...(status === 'waiting' && row.due !== null && { dueAt: new Date(Number(row.due)) }),
    recoveries: Number(row.recoveries),
    ...(typeof row.forked_from === 'string' && { forkedFrom: row.forked_from }),
    ...(Array.isArray(row.tags) && row.tags.length > 0 && { tags: row.tags.map(String) }),
    ...(isJsonObject(metadata) && { metadata }),
    ...(status === 'running' && typeof row.blocked === 'string' && { blocked: row.blocked }),
    segment: Number(row.leg),
    request: typeof row.request === 'string' ? row.request : undefined,
  }
}

/** A run in a list. One whose row is damaged is shown with that as its error: it must not hide the others. */
export const listedRow = (row: Row): RunRow => {
  try {
    return runRow(row)
  } catch (thrown) {
    const { id, leg, agent } = row
    const empty = { status: 'abandoned', state: '', prompt: '', step: 0, pending: '[]', recoveries: 0 }
    const dates = { created_at: new Date(0), updated_at: new Date(0) }
    return { ...runRow({ ...empty, ...dates, id, leg, agent, is_whole: true }), error: errorDataOf(thrown) }
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

export const pendingOf = (text: unknown): PendingCall[] => pendingCalls(fromJson(text))

/** The calls of a stored list; other values in it are left out. */
export const pendingCalls = (calls: JsonValue | undefined): PendingCall[] =>
  Array.isArray(calls) ? calls.filter(isPending) : []

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
> & { step: number | null; due: number | null }

const nothingSettled: SettledColumns = {
  snapshot: null,
  result: null,
  pending: '[]',
  error: null,
  state: null,
  usage: null,
  step: null,
  due: null,
}

/** The end of a segment that its agent did not refuse. */
export type SettledEnd = Exclude<SegmentEnd, { status: 'abandoned' }>

/** The columns that the end of a segment is stored in. */
export const settledColumns = (end: SettledEnd): SettledColumns => {
  if (end.status === 'waiting' || end.status === 'sleeping')
    return {
      ...nothingSettled,
      snapshot: JSON.stringify(end.snapshot),
      ...(end.status === 'waiting' && {
        result: JSON.stringify(end.result),
        pending: JSON.stringify(end.result.pendingApproval.calls),
      }),
      due: end.due ?? null,
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
