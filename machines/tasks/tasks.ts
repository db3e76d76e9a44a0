import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import {
  type ChatMessage,
  type ToolResultPart,
  textOf,
  textPart,
  toolCallsOf,
} from '../../src/messages/messages.ts'
import { addUsage, type PendingCall, type Usage } from '../../src/messages/result.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { errorResult, toolResultOf } from '../../src/tools/toolResult.ts'
import type { AgentCommand, CallCommand, ChildEvent, TaskCommand } from '../agent/events.ts'
import { append, type StreamingState, type Task, withUsage } from '../agent/streamingState.ts'
import { argumentsOf, keysOf } from '../tools/round.ts'
import { cancelToolName, statusToolName } from './taskTools.ts'

// The background agents of a run: the chart's actions on them, as pure functions from state to state.

type Tools = ReadonlyMap<string, Tool>

/** A step of the tasks: their data afterwards, those that start now, and those that are aborted. */
export type TaskStep = { tasks: Task[]; start: Task[]; cancel: string[] }

const tasksOf = ({ tasks = [] }: StreamingState): Task[] => tasks

/** Says whether a task has not ended. */
export const isOpen = ({ status }: Task): boolean => status === 'queued' || status === 'working'

/** The tasks that the run waits for before it is complete. */
const awaitedTasks = (state: StreamingState): Task[] =>
  tasksOf(state).filter((task) => isOpen(task) && !task.detached)

export const hasTasks = (state: StreamingState): boolean => awaitedTasks(state).length > 0

/** The first result that the model does not have yet. Nothing comes between the parts of an answer that the provider paused. */
export const nextResult = (state: StreamingState): Task | undefined =>
  state.paused ? undefined : tasksOf(state).find(({ result }) => result !== undefined)

/**
 * The results of calls, and the tasks that follow from them: a call of a background agent starts a task, and two tools
 * look at the tasks and cancel one. What such calls return is written here, where the tasks are known.
 */
export const settleCalls = (
  state: StreamingState,
  tools: Tools,
  results: readonly ToolResultPart[],
  at: number,
): TaskStep & { results: ToolResultPart[] } => {
  let tasks = tasksOf(state)
  const cancel: string[] = []
  const settled = results.map((result): ToolResultPart => {
    const background = tools.get(result.name)?.background
    if (result.isError) return result
    const args = argumentsOf(state, result.id)
    if (background) {
      if (tasks.every(({ id }) => id !== result.id))
        tasks = [...tasks, newTask(result, background.promptOf(args), background.detached, at)]
      return toolResultOf(result, startNote(result.id, background.detached))
    }
    if (result.name === statusToolName) return statusResult(result, tasks, args.task)
    if (result.name !== cancelToolName) return result
    const task = tasks.find(({ id }) => id === args.task)
    if (!task || !isOpen(task))
      return errorResult(result, `No task "${String(args.task)}" is at work: ${listOf(tasks)}.`)
    if (task.status === 'working') cancel.push(task.id)
    tasks = cancelled(tasks, task, at)
    return toolResultOf(result, { task: task.id, status: 'cancelled' })
  })
  return { ...scheduled(tasks, tools, at), cancel, results: settled }
}

const newTask = (
  { id, name }: ToolResultPart,
  prompt: string,
  detached: boolean,
  createdAt: number,
): Task => ({
  id,
  tool: name,
  status: 'queued',
  prompt,
  createdAt,
  ...(detached && { detached }),
})

/** The tasks after one was cancelled: it ends at once, or if it works, when it has been aborted. */
const cancelled = (tasks: readonly Task[], task: Task, endedAt: number): Task[] => {
  const { prompt: _, ...rest } = task
  return task.status === 'working'
    ? tasks.map((each) => (each === task ? { ...each, cancelled: true } : each))
    : [...tasks.filter((each) => each !== task), { ...rest, status: 'aborted', endedAt }]
}

const startNote = (task: string, detached: boolean): JsonObject => ({
  task,
  status: 'started',
  note: detached
    ? 'It works in the background, and nothing waits for it.'
    : 'It works in the background. Its result comes as a message: do something else, or end your turn to wait.',
})

const statusResult = (call: ToolResultPart, tasks: readonly Task[], only: unknown): ToolResultPart => {
  const shown = only === undefined ? tasks : tasks.filter(({ id }) => id === only)
  if (only !== undefined && shown.length === 0)
    return errorResult(call, `There is no task "${String(only)}": ${listOf(tasks)}.`)
  return toolResultOf(
    call,
    shown.map(({ id, tool, status, waiting = [] }) => ({
      task: id,
      tool,
      status: waiting.length > 0 ? 'waiting for a person' : status,
    })),
  )
}

const listOf = (tasks: readonly Task[]): string =>
  tasks.length === 0
    ? 'no task was started'
    : `the tasks are ${tasks.map(({ id, status }) => `${id} (${status})`).join(', ')}`

/** Starts the tasks that were queued, in their order, as far as their tools allow. */
const scheduled = (tasks: readonly Task[], tools: Tools, startedAt: number): Omit<TaskStep, 'cancel'> => {
  const working = new Map<string, number>()
  const countOf = (tool: string) => working.get(tool) ?? 0
  for (const { tool, status } of tasks) if (status === 'working') working.set(tool, countOf(tool) + 1)
  const start: Task[] = []
  const next = tasks.map((task): Task => {
    const most = tools.get(task.tool)?.background?.maxTasks ?? 1
    if (task.status !== 'queued' || countOf(task.tool) >= most) return task
    working.set(task.tool, countOf(task.tool) + 1)
    const started: Task = { ...task, status: 'working', startedAt }
    start.push(started)
    return started
  })
  return { tasks: next, start }
}

const noReason = 'no reason given'

type Ended = Omit<Extract<ChildEvent, { type: 'task.finished' }>, 'type'>

/** A task has ended; others start in its place. An end counts once: one that is reported again changes nothing. */
export const endTask = (
  state: StreamingState,
  tools: Tools,
  { id, status, text, usage, step, tasks }: Ended,
  endedAt: number,
): TaskStep => {
  const task = tasksOf(state).find((each) => each.id === id && each.status === 'working')
  if (!task) return { tasks: tasksOf(state), start: [], cancel: [] }
  const { waiting: _, isPartly: __, due: ___, prompt = '', ...rest } = task
  const most = tools.get(task.tool)?.maxResult
  const over: Task = {
    ...rest,
    status,
    endedAt,
    ...(usage && { usage }),
    ...(step !== undefined && { step }),
    ...(tasks && { tasks: [...tasks] }),
    ...(!task.cancelled && { prompt, result: toolResultOf({ id, name: task.tool }, text, most).result }),
  }
  const others = tasksOf(state).filter((each) => each !== task)
  return { ...scheduled([...others, over], tools, endedAt), cancel: [] }
}

/** Notes what a task waits for, and until when, and its usage so far. */
export const noteReport = (
  state: StreamingState,
  { id, calls, isAtWork, due, usage }: Omit<Extract<ChildEvent, { type: 'task.report' }>, 'type'>,
): Task[] =>
  tasksOf(state).map((task) => {
    if (task.id !== id || task.status !== 'working') return task
    const { waiting: _, isPartly: __, due: ___, ...rest } = task
    const waiting = calls.map((call) => ({ ...call, id: `${id}/${call.id}` }))
    return {
      ...rest,
      ...(usage && { usage }),
      ...(waiting.length > 0 && { waiting, ...(isAtWork && { isPartly: true }) }),
      ...(due !== undefined && { due }),
    }
  })

/** The tasks that work and have no run: they were to start when the run was stored. */
export const lostTasks = (state: StreamingState, ids: readonly string[]): Task[] =>
  tasksOf(state).filter(({ id, status }) => status === 'working' && !ids.includes(id))

/** The calls of tasks that wait for a decision, while others may be at work. */
export const openOfTasks = (state: StreamingState): PendingCall[] =>
  tasksOf(state).flatMap(({ waiting = [] }) => waiting)

/** Says whether each task that works waits for a person, or sleeps: then nothing of the run is at work. */
export const areTasksPaused = (state: StreamingState): boolean => {
  const working = awaitedTasks(state).filter(({ status }) => status === 'working')
  const isPaused = ({ waiting = [], isPartly, due }: Task) =>
    waiting.length > 0 ? !isPartly : due !== undefined
  return working.length > 0 && working.every(isPaused)
}

/** The calls that the run waits for once none of its tasks is at work. */
export const awaitedOfTasks = (state: StreamingState): PendingCall[] =>
  areTasksPaused(state) ? openOfTasks(state) : []

/** The moments at which tasks continue by themselves, once none of them is at work. */
export const duesOfTasks = (state: StreamingState): number[] =>
  areTasksPaused(state) ? tasksOf(state).flatMap(({ due = [] }) => due) : []

/** The calls that the run did not wait for before. */
export const newlyAwaited = (before: StreamingState, after: StreamingState): PendingCall[] => {
  const known = new Set(awaitedOfTasks(before).map((call) => keysOf([call])))
  return awaitedOfTasks(after).filter((call) => !known.has(keysOf([call])))
}

/** Ends the tasks that have not started: there is nothing left for them to use. */
export const dropQueued = (state: StreamingState, result: string, endedAt: number): Task[] =>
  dropped(state, ({ status, detached }) => status === 'queued' && !detached, result, endedAt)

const dropped = (
  state: StreamingState,
  isDropped: (task: Task) => boolean,
  result: string,
  endedAt: number,
): Task[] => {
  const rest = tasksOf(state).filter((task) => !isDropped(task))
  const ended = tasksOf(state).filter(isDropped)
  return [...rest, ...ended.map((task): Task => ({ ...task, status: 'aborted', result, endedAt }))]
}

export const isTaskOpen = (state: StreamingState, id: string): boolean =>
  tasksOf(state).some((task) => task.id === id && isOpen(task))

/** The tasks after an abort of one that is queued; undefined for any other command, and any other task. */
export const dropTask = (
  state: StreamingState,
  id: string,
  command: TaskCommand,
  at: number,
): Task[] | undefined => {
  const queued = tasksOf(state).find((task) => task.id === id && task.status === 'queued')
  if (!queued || command.type !== 'abort') return undefined
  return dropped(state, (task) => task === queued, command.reason || noReason, at)
}

/** The text of a command for a task that has ended since: the model of the run that started it gets it, so that it is not lost. */
export const lateTextOf = ({
  task,
  command,
}: Extract<AgentCommand, { type: 'task.command' }>): string | undefined => {
  const text = textOfCommand(command)
  return text === undefined ? undefined : `For the task "${task}", which has ended: ${text}`
}

const textOfCommand = (command: TaskCommand): string | undefined => {
  if (command.type === 'task.command') return lateTextOf(command)
  if (command.type === 'wake') return command.message
  return command.type === 'message' || command.type === 'steer' ? command.text : undefined
}

/** The tasks that end with the run. */
export const workingIds = (state: StreamingState): string[] =>
  awaitedTasks(state).flatMap(({ id, status }) => (status === 'working' ? id : []))

/** Says whether a decision is about a call of a task. */
export const isForTask = (state: StreamingState, { callId }: Pick<CallCommand, 'callId'>): boolean =>
  tasksOf(state).some((task) => isOpen(task) && callId.startsWith(`${task.id}/`))

/** The usage of the run, with that of tasks which is not part of its totals yet. */
export const familyUsage = (state: StreamingState): Usage | null =>
  tasksOf(state)
    .map(({ usage, isCounted }) => (isCounted ? undefined : usage))
    .reduce(addUsage, state.totals.usage ?? undefined) ?? null

/** Gives the model the next result, as one user message. `withheld`: the reason why it gets none. */
export const deliverResult = (state: StreamingState, withheld?: string): Partial<StreamingState> => {
  const next = nextResult(state)
  if (!next) return {}
  const { result: _, prompt: __, ...known } = next
  return {
    ...append(state, taskMessage(next, withheld)),
    totals: withUsage(state.totals, next.usage ?? null),
    tasks: tasksOf(state).map((task) => (task === next ? counted(known) : task)),
  }
}

const counted = (task: Task): Task => (task.usage ? { ...task, isCounted: true } : task)

const taskMessage = ({ id, tool, status, result = '' }: Task, withheld?: string): ChatMessage => {
  const name = `The task "${id}" (${tool})`
  const text =
    withheld !== undefined
      ? `${name} has ended, but its result is withheld: ${withheld}`
      : status === 'complete'
        ? `${name} ${completed}${result}`
        : `${name} ${status === 'failed' ? 'failed' : 'was aborted'}: ${result}`
  return { role: 'user', parts: [textPart(text)], metadata: { task: { id, tool, status } } }
}

const completed = 'is complete. Its result:\n'

/** Reads the text of a task back from the message that the model got of it. */
export const taskTextIn = (message: ChatMessage): string => {
  const text = textOf(message)
  const at = text.indexOf(completed)
  return at < 0 ? text : text.slice(at + completed.length)
}

/** Ends the tasks of a run that is over, unless they are detached. What they have used so far counts. */
export const dismissTasks = (state: StreamingState, endedAt: number): Partial<StreamingState> => {
  if (!state.tasks) return {}
  const open = new Set(awaitedTasks(state))
  const tasks = state.tasks.map((task): Task => {
    if (!open.has(task)) return counted(task)
    const { waiting: _, isPartly: __, due: ___, prompt: ____, ...rest } = task
    return counted({ ...rest, status: 'aborted', endedAt })
  })
  return { tasks, totals: { ...state.totals, usage: familyUsage(state) } }
}

/** Characters of a prompt that are kept of a task whose own run is gone. */
const shownPrompt = 200

/** The tasks of a run that has ended, as they are kept to be shown. */
export const endedTasks = ({ messages, tasks = [] }: StreamingState): Task[] => {
  const prompts = new Map(messages.flatMap(toolCallsOf).map((call) => [call.id, call.arguments.prompt]))
  return tasks.map(({ result: _, ...task }) => ({
    ...task,
    prompt: String(prompts.get(task.id) ?? '').slice(0, shownPrompt),
  }))
}

/** The text that a task ends with, by its output; a run that broke has no output. */
export const endOf = (output: unknown): Pick<Ended, 'status' | 'text' | 'usage'> => {
  const { status, output: text, error, reason, usage }: JsonObject = isJsonObject(output) ? output : {}
  const used = isJsonObject(usage) ? { usage: usage as Usage } : {}
  if (status === 'complete' && typeof text === 'string') return { status, text, ...used }
  if (status === 'aborted')
    return { status, text: typeof reason === 'string' && reason !== '' ? reason : noReason, ...used }
  const { message = 'It ended without a result.' } = Object(error)
  return { status: 'failed', text: String(message), ...used }
}
