import { endStatuses, isRunStatus, type RunInfo } from '../durable/runs.ts'
import type { StoredTask } from '../durable/tasks.ts'
import { isJsonObject, type JsonValue } from '../messages/json.ts'
import { fromJson, isErrorData, pendingCalls } from './tables.ts'

// The background agents of a run on DBOS. While the run works, no snapshot of it is stored: a column of its row lists them.

/** The list of tasks as a column. The result of one that is complete is a message of its run. */
export const packTasks = (tasks: readonly StoredTask[]): string =>
  JSON.stringify(
    tasks.map(({ info, path, text }) => ({ info, path, ...(info.status !== 'complete' && { text }) })),
  )

/** Reads the list of tasks of a run. Another program may have changed it: what is not a task is left out. */
export const tasksFrom = (run: RunInfo, column: unknown): StoredTask[] => {
  const list = fromJson(column)
  return Array.isArray(list) ? list.flatMap((each) => taskFrom(run, each)) : []
}

const taskFrom = (run: RunInfo, value: JsonValue): StoredTask[] => {
  if (!isJsonObject(value) || !isJsonObject(value.info) || !Array.isArray(value.path)) return []
  const { info, text } = value
  const { id, parent, callId, agent, state, prompt, step, usage, error } = info
  const words = [id, parent, callId, agent, state, prompt]
  if (!words.every((word) => typeof word === 'string') || !isRunStatus(info.status)) return []
  const path = value.path.flatMap((each) =>
    isJsonObject(each) && typeof each.id === 'string' ? [{ id: each.id, isTask: each.isTask === true }] : [],
  )
  const isOver = endStatuses.includes(info.status)
  // One that is under way ends with its run.
  const endOfRun = run.status === 'abandoned' ? 'abandoned' : 'aborted'
  const status = isOver || !endStatuses.includes(run.status) ? info.status : endOfRun
  const isUnderWay = !endStatuses.includes(status)
  const dates = {
    createdAt: dateIn(info.createdAt) ?? run.createdAt,
    updatedAt: dateIn(info.updatedAt) ?? run.updatedAt,
  }
  const [startedAt, dueAt] = [dateIn(info.startedAt), dateIn(info.dueAt)]
  const own: RunInfo = {
    id: String(id),
    parent: String(parent),
    callId: String(callId),
    agent: String(agent),
    status,
    state: isUnderWay ? String(state) : '',
    prompt: String(prompt),
    step: Number(step),
    pending: isUnderWay ? pendingCalls(info.pending) : [],
    ...(isJsonObject(usage) && { usage }),
    ...(isErrorData(error) && { error }),
    ...(isUnderWay && run.blocked !== undefined && { blocked: run.blocked }),
    ...dates,
    ...(startedAt && { startedAt }),
    ...(isUnderWay && dueAt && { dueAt }),
    recoveries: isUnderWay ? run.recoveries : 0,
  }
  return [{ info: own, path, snapshot: undefined, text: typeof text === 'string' ? text : '' }]
}

const dateIn = (value: unknown): Date | undefined => {
  const date = typeof value === 'string' ? new Date(value) : undefined
  return date && !Number.isNaN(date.getTime()) ? date : undefined
}
