import type { RunInfo, RunStatus } from '../durable/runs.ts'
import type { ErrorData } from '../messages/errors.ts'
import { OrchestrationError } from '../messages/errors.ts'
import { isJsonObject, type JsonValue } from '../messages/json.ts'
import { partFlaw } from '../messages/messageFlaw.ts'
import { type PendingCall, pendingKinds, type Usage } from '../messages/result.ts'
import type { Row } from './Database.ts'

/** What is read of a run to show its status. */
export const infoColumns =
  'id, agent, status, state, prompt, step, pending, usage, error, recoveries, forked_from, created_at, updated_at, leg'

const statuses: readonly RunStatus[] = ['running', 'waiting', 'complete', 'failed', 'aborted', 'abandoned']

/** The status of a run, and which leg it is on. */
export type RunRow = RunInfo & { leg: number }

/** A row as a run. Another program may have changed it. */
export const runRow = (row: Row): RunRow => {
  const status = statuses.find((each) => each === row.status)
  const { created_at: createdAt, updated_at: updatedAt } = row
  if (!status || !(createdAt instanceof Date) || !(updatedAt instanceof Date)) throw damaged(row.id)
  const usage = fromJson(row.usage)
  const error = fromJson(row.error)
  return {
    id: textOf(row.id),
    agent: textOf(row.agent),
    status,
    state: textOf(row.state),
    prompt: textOf(row.prompt),
    step: Number(row.step),
    // Calls that were decided on stay listed until the leg that got the decision is over.
    pending: status === 'waiting' ? pendingOf(row.pending) : [],
    ...(isJsonObject(usage) && { usage: usage as Usage }),
    ...(isErrorData(error) && { error }),
    createdAt,
    updatedAt,
    recoveries: Number(row.recoveries),
    ...(typeof row.forked_from === 'string' && { forkedFrom: row.forked_from }),
    leg: Number(row.leg),
  }
}

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** What a column of JSON holds; undefined if it holds nothing, or no JSON. */
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
