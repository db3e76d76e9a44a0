import { stateName } from '../../../machines/agent/states.ts'
import { type ErrorData, errorDataOf } from '../../messages/errors.ts'
import { isJsonObject, type JsonObject } from '../../messages/json.ts'
import type { PendingCall, Usage } from '../../messages/result.ts'
import { isRunStatus, type RunInfo, type RunStatus } from '../runs.ts'
import { type Base, baseIn } from './Items.ts'
import { jsonIn, numberIn, type Row, textIn } from './SqliteFile.ts'
import { DamagedData, damaged } from './storeErrors.ts'

/** The part of a run's row that each step writes. */
export type Checkpoint = {
  status: RunStatus
  /** A process must continue the run, or show its readers its status. */
  isUnsettled: boolean
  /** The time at which it continues by itself, while it waits. */
  due: number | undefined
  recoveries: number
  /** Messages that its chart did not show. */
  hidden: number
  step: number
  state: string
  usage: Usage | undefined
  pending: readonly PendingCall[]
  error: ErrorData | undefined
  /** The packed `{ input }` or `{ snapshot }` that the run continues from. */
  packedSnapshot: string
}

/** The state of a run that has not started. */
export const notStarted: Omit<Checkpoint, 'packedSnapshot'> = {
  status: 'running',
  isUnsettled: true,
  due: undefined,
  recoveries: 0,
  hidden: 0,
  step: 0,
  state: '',
  usage: undefined,
  pending: [],
  error: undefined,
}

/** A run that is to be stored. */
export type NewRun = Checkpoint & {
  id: string
  agent: string
  prompt: string
  forkedFrom: string | undefined
  base: Base | undefined
  /** The `context` of the tools, as JSON; undefined if they get none. */
  context: string | undefined
  /** A digest of what it was started with; undefined for runs of older releases, and for forks. */
  request: string | undefined
  /** The JSON Schema of its answer. */
  answer: JsonObject | undefined
  metadata: JsonObject | undefined
  tags: readonly string[]
}

/** A run as it is stored; `n` is its number in the file. */
export type RunRow = Omit<NewRun, 'context'> & {
  n: number
  /** Processes, or restarts, that have worked on the run. A cursor of an earlier one may point at lost text. */
  incarnation: number
  /** The reason why it does not continue for now. */
  blocked: string | undefined
  created: number
  updated: number
}

/** A run without its snapshot, as lists need it. */
export type RunSummary = Omit<RunRow, 'packedSnapshot'>

/** The columns of a summary. */
export const summaryColumns = `n, id, agent, status, live, life, recoveries, hidden, step, state, created, updated, prompt, forked_from, base,
  counts, usage, pending, error, request, blocked, answer, metadata, due,
  (SELECT json_group_array(tag) FROM tags WHERE tags.run = runs.n) AS tags`

/** The public data of a run. */
export const infoOf = (run: RunSummary): RunInfo => ({
  id: run.id,
  agent: run.agent,
  status: run.status,
  // Rows of older releases hold the path of the innermost state.
  state: stateName(run.state),
  prompt: run.prompt,
  step: run.step,
  pending: [...run.pending],
  ...(run.usage && { usage: run.usage }),
  ...(run.error && { error: run.error }),
  ...(run.blocked !== undefined && { blocked: run.blocked }),
  createdAt: new Date(run.created),
  updatedAt: new Date(run.updated),
  recoveries: run.recoveries,
  ...(run.due !== undefined && { dueAt: new Date(run.due) }),
  ...(run.forkedFrom !== undefined && { forkedFrom: run.forkedFrom }),
  ...(run.tags.length > 0 && { tags: [...run.tags] }),
  ...(run.metadata && { metadata: run.metadata }),
})

/** Reads a run without its snapshot. */
export const summaryOf = (row: Row): RunSummary => {
  const status = row.status
  if (!isRunStatus(status)) throw damaged(`a run has the status ${String(status)}`)
  return {
    n: numberIn(row, 'n'),
    id: textIn(row, 'id'),
    agent: textIn(row, 'agent'),
    status,
    isUnsettled: numberIn(row, 'live') === 1,
    due: row.due === null || row.due === undefined ? undefined : numberIn(row, 'due'),
    incarnation: numberIn(row, 'life'),
    recoveries: numberIn(row, 'recoveries'),
    hidden: numberIn(row, 'hidden'),
    step: numberIn(row, 'step'),
    state: textIn(row, 'state'),
    created: numberIn(row, 'created'),
    updated: numberIn(row, 'updated'),
    prompt: textIn(row, 'prompt'),
    forkedFrom: row.forked_from === null ? undefined : textIn(row, 'forked_from'),
    base: row.base === null ? undefined : baseIn(row),
    usage: jsonIn(row, 'usage') as Usage | undefined,
    pending: pendingIn(row),
    error: errorIn(row),
    request: typeof row.request === 'string' ? row.request : undefined,
    blocked: typeof row.blocked === 'string' ? row.blocked : undefined,
    answer: objectIn(row, 'answer'),
    metadata: objectIn(row, 'metadata'),
    tags: tagsIn(row),
  }
}

/** A run in a list. One whose row is damaged is shown with that as its error: it must not hide the others. */
export const listed = (row: Row): RunSummary => {
  try {
    return summaryOf(row)
  } catch (thrown) {
    if (!(thrown instanceof DamagedData)) throw thrown
    const { n, id, agent } = row
    const empty = { n: 0, id: '', agent: '', status: 'abandoned', live: 0, life: 0, recoveries: 0, hidden: 0 }
    const shown = { ...empty, step: 0, state: '', created: 0, updated: 0, prompt: '', base: null, tags: '[]' }
    const names = { n: Number(n), id: String(id), agent: String(agent), forked_from: null }
    return { ...summaryOf({ ...shown, ...names }), error: errorDataOf(thrown) }
  }
}

const objectIn = (row: Row, column: string): JsonObject | undefined => {
  const value = jsonIn(row, column)
  if (value !== undefined && !isJsonObject(value)) throw damaged(`"${column}" is not an object`)
  return value
}

const tagsIn = (row: Row): string[] => {
  const tags = jsonIn(row, 'tags')
  return Array.isArray(tags) ? tags.map(String) : []
}

const pendingIn = (row: Row): PendingCall[] => {
  const pending = jsonIn(row, 'pending') ?? []
  const isCall = (each: unknown) => isJsonObject(each) && typeof each.id === 'string'
  if (!Array.isArray(pending) || !pending.every(isCall)) throw damaged('the calls of a run are not a list')
  return pending
}

const errorIn = (row: Row): ErrorData | undefined => {
  const error = jsonIn(row, 'error')
  if (error === undefined) return undefined
  if (!isJsonObject(error) || typeof error.message !== 'string')
    throw damaged('the error of a run is not an error')
  return error as ErrorData
}
