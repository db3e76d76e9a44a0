import type { Snapshot } from 'xstate'
import type { AgentCommand, TaskCommand } from '../../machines/agent/events.ts'
import { stateName } from '../../machines/agent/states.ts'
import type { StreamingState, Task } from '../../machines/agent/streamingState.ts'
import { isRemoteTask } from '../../machines/tasks/remoteTask.ts'
import { taskTextIn } from '../../machines/tasks/tasks.ts'
import { dueIn, isRun, openIn } from '../../machines/tools/pendingCalls.ts'
import { AbortedError, ConfigurationError, OrchestrationError } from '../messages/errors.ts'
import { type ChatMessage, isTaskResult, toolCallsOf } from '../messages/messages.ts'
import { waitReason } from '../messages/result.ts'
import { checkStoredCommand } from './commands.ts'
import { partialResult } from './outcome.ts'
import { promptText, unknownRun } from './runOptions.ts'
import {
  type DurableResult,
  type DurableRun,
  endStatuses,
  type RunInfo,
  type RunStatus,
  type Runs,
} from './runs.ts'
import { isResting, stepsIn, usageIn } from './snapshots.ts'

// The background agents of a stored run, read from its snapshot: there is no other record of them.

/** A step on the way from a run to a task below it: a task, or a call of a sub-agent that has tasks. */
type Step = { id: string; isTask: boolean }

/** A background agent of a stored run. */
export type StoredTask = {
  /** The public data, as that of a run. */
  info: RunInfo
  /** The way from the stored run to it. */
  path: readonly Step[]
  /** The snapshot of its own run, while that is under way. */
  snapshot: Snapshot<unknown> | undefined
  /** The text at its end: its result, or the reason why it has none. */
  text: string
}

/** The place of tasks: the stored run, and the run or the task that started them. */
type Place = { root: string; parent: RunInfo; path: readonly Step[] }

/** Lists the tasks of a run and those below them, each after the one that started it, in the order of their calls. */
export const storedTasks = (run: RunInfo, snapshot: unknown): StoredTask[] =>
  tasksBelow({ root: run.id, parent: run, path: [] }, snapshot)

const tasksBelow = (place: Place, snapshot: unknown): StoredTask[] => {
  const { context, children } = Object(snapshot)
  const { toolExecutor, tasks } = Object(children)
  if (!isRun(context))
    return Object.values(Object(children)).flatMap((child) => tasksBelow(place, Object(child).snapshot))
  const ofCalls = Object.entries(Object(Object(Object(toolExecutor).snapshot).runs)).flatMap(([id, run]) =>
    tasksBelow({ ...place, path: [...place.path, { id, isTask: false }] }, run),
  )
  const { runs } = Object(Object(tasks).snapshot)
  return [...ofRun(place, context, (id) => Object(Object(runs)[id]).run), ...ofCalls]
}

/** The tasks of a run whose data is known, with those below them. `snapshotOf` finds those that are under way. */
const ofRun = (
  place: Place,
  state: StreamingState,
  snapshotOf: (id: string) => Snapshot<unknown> | undefined,
): StoredTask[] => {
  const calls = new Map(state.messages.flatMap(toolCallsOf).map((call, at) => [call.id, { call, at }]))
  const messages = new Map(state.messages.filter(isTaskResult).map((each) => [taskIn(each.metadata), each]))
  const placeOf = ({ id }: Task) => calls.get(id)?.at ?? 0
  const ordered = [...(state.tasks ?? [])].sort((a, b) => placeOf(a) - placeOf(b))
  return ordered.flatMap((task) => {
    const message = messages.get(task.id)
    const text = task.result ?? (message ? taskTextIn(message) : '')
    const prompt = task.prompt ?? calls.get(task.id)?.call.arguments.prompt
    return withBelow(place, task, snapshotOf(task.id), { prompt: promptText(prompt), text })
  })
}

const taskIn = (metadata: unknown): unknown => Object(Object(metadata).task).id

/** A task with the tasks below it. If a task below ended with it, only its own data is left. */
const withBelow = (
  { root, parent, path: above }: Place,
  task: Task,
  snapshot: Snapshot<unknown> | undefined,
  { prompt = '', text = '' }: { prompt?: string; text?: string } = {},
): StoredTask[] => {
  const path = [...above, { id: task.id, isTask: true }]
  const id = [root, ...path.map((step) => step.id)].join('/')
  const info: RunInfo = { ...infoOf(parent, task, snapshot, text), id, prompt }
  const place = { root, parent: info, path }
  const below = snapshot
    ? tasksBelow(place, snapshot)
    : (task.tasks ?? []).flatMap((each) =>
        withBelow(place, each, undefined, { prompt: promptText(each.prompt) }),
      )
  return [{ info, path, snapshot, text }, ...below]
}

const infoOf = (parent: RunInfo, task: Task, snapshot: unknown, text: string): Omit<RunInfo, 'prompt'> => {
  const { id, tool, createdAt, startedAt, endedAt } = task
  const status = statusOf(parent, task, snapshot)
  const isUnderWay = !endStatuses.includes(status)
  const due = status === 'waiting' ? dueIn(snapshot) : undefined
  const usage = task.usage ?? usageIn(snapshot)
  return {
    id,
    parent: parent.id,
    callId: id,
    agent: tool,
    status,
    state: isUnderWay ? stateName(Object(snapshot).value) : '',
    step: task.step ?? (snapshot ? stepsIn(snapshot) : 0),
    pending: isUnderWay ? openIn(snapshot) : [],
    ...(usage && { usage }),
    ...(status === 'failed' && { error: { name: 'OrchestrationError', message: text } }),
    ...(isUnderWay && parent.blocked !== undefined && { blocked: parent.blocked }),
    createdAt: createdAt === undefined ? parent.createdAt : new Date(createdAt),
    ...(startedAt !== undefined && { startedAt: new Date(startedAt) }),
    updatedAt: endedAt === undefined ? parent.updatedAt : new Date(endedAt),
    recoveries: isUnderWay ? parent.recoveries : 0,
    ...(due !== undefined && { dueAt: new Date(due) }),
  }
}

/** The status of a task, in the words of a run. If the run can no longer continue, its running tasks end with it. */
const statusOf = (parent: RunInfo, task: Task, snapshot: unknown): RunStatus => {
  if (task.status !== 'queued' && task.status !== 'working') return task.status
  if (endStatuses.includes(parent.status)) return parent.status === 'abandoned' ? 'abandoned' : 'aborted'
  const isPaused = openIn(snapshot).length > 0 || dueIn(snapshot) !== undefined
  return isPaused && isResting(snapshot) ? 'waiting' : 'running'
}

/**
 * Checks a command for a task, and addresses it to the stored run that has the task. `enqueued`: commands that this run has not
 * seen yet.
 */
export const checkTaskCommand = (
  given: unknown,
  { info, path, snapshot }: StoredTask,
  enqueued: readonly AgentCommand[],
): AgentCommand => {
  const own = enqueued.flatMap((each) => commandBelow(path, each) ?? [])
  const command = checkStoredCommand(given, info, own)
  if ('callId' in command) return { ...command, callId: `${prefixOf(path)}${command.callId}` }
  if (path.some(({ isTask }) => !isTask))
    throw new ConfigurationError(
      `A sub-agent started the task "${info.id}": it can be sent decisions on its calls only.`,
    )
  if (isRemoteTask(snapshot) && command.type !== 'abort')
    throw new ConfigurationError(`A server works on the task "${info.id}": it can only be aborted.`)
  if (info.startedAt === undefined && command.type !== 'abort')
    throw new ConfigurationError(`The task "${info.id}" is queued: before it starts, it can only be aborted.`)
  return path.reduceRight<TaskCommand>(
    (below, { id }) => ({ type: 'task.command', task: id, command: below }),
    command,
  )
}

/** The command as its task gets it; undefined if it is for another one. */
const commandBelow = ([step, ...rest]: readonly Step[], command: AgentCommand): AgentCommand | undefined => {
  if (!step) return command
  if ('callId' in command) {
    const prefix = prefixOf([step])
    return command.callId.startsWith(prefix)
      ? commandBelow(rest, { ...command, callId: command.callId.slice(prefix.length) })
      : undefined
  }
  // An abort of a run is one of its tasks.
  if (command.type === 'abort') return command
  return command.type === 'task.command' && command.task === step.id
    ? commandBelow(rest, command.command)
    : undefined
}

const prefixOf = (path: readonly Step[]): string => path.map(({ id }) => `${id}/`).join('')

/** The result of a task that is over, or waits for people. */
export const taskResult = ({ info, snapshot, text }: StoredTask): DurableResult | undefined => {
  const { status, pending, usage } = info
  const ended = { ...partialResult(undefined), ...(usage && { usage }) }
  const [first, ...rest] = pending
  switch (status) {
    case 'complete':
      return { ...ended, status, finishReason: 'stop', output: text, answer: text }
    case 'waiting':
      return (
        first && {
          ...partialResult(snapshot),
          status,
          finishReason: waitReason(pending),
          pendingApproval: { calls: [first, ...rest] },
        }
      )
    case 'running':
      return undefined
    case 'aborted':
      throw new AbortedError(text)
    default:
      throw new OrchestrationError(text)
  }
}

/** The stream of a task, which is refused: the text of a task is not shown while it comes, and is not stored. */
export const unstreamed = (id: string): ReturnType<DurableRun['stream']> => {
  const problem = `"${id}" is a task, whose stream is not stored: read its result, or the stream of its run.`
  return {
    next: () => Promise.reject(new ConfigurationError(problem)),
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** Says whether a message brings the result of the task that a call has started. */
export const isTaskMessage = (message: ChatMessage, callId: unknown): boolean =>
  isTaskResult(message) && taskIn(message.metadata) === callId

/** A part of a list of tasks. */
type TaskFilter = NonNullable<Parameters<Runs['list']>[0]> & { parent: string }

/** The tasks that a run, or a task of it, has started, as they are listed: the last call first. */
export const listedTasks = (
  all: readonly StoredTask[],
  { parent, status, agent, tag, limit, before }: TaskFilter,
): RunInfo[] => {
  const newest = all.flatMap(({ info }) => (info.parent === parent ? info : [])).reverse()
  const from = before === undefined ? 0 : newest.findIndex(({ id }) => id === before) + 1
  if (before !== undefined && from === 0) throw unknownRun(before)
  const fits = (each: RunInfo) =>
    (status === undefined || each.status === status) && (agent === undefined || each.agent === agent)
  return tag === undefined ? newest.slice(from).filter(fits).slice(0, limit) : []
}
