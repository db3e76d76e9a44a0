import type { ResolvedConfig } from '../agent/agentConfig.ts'
import { askEvent } from '../agent/announcements.ts'
import { assign, enqueueActions, forwardTo } from '../agent/chartActions.ts'
import type { AgentEvent } from '../agent/events.ts'
import { brokenPart } from '../agent/failures.ts'
import { isSpent } from '../agent/limits.ts'
import type { StreamingState, Task } from '../agent/streamingState.ts'
import { deepFreeze } from '../logic/deepFreeze.ts'
import { recordedTime } from '../logic/systemTime.ts'
import { toolsOf } from '../tools/runTools.ts'
import type { TaskServiceEvent } from './taskService.ts'
import * as tasks from './tasks.ts'

/** The actions of the chart on its background agents. */
export const taskActions = (config: () => ResolvedConfig) => ({
  noteTaskEnd: enqueueActions(({ context, self, enqueue }, ended: TaskEvent<'task.finished'>) => {
    const step = tasks.endTask(context, toolsOf(config(), self), ended, recordedTime(self))
    const after = { ...context, tasks: step.tasks }
    noteTasks(enqueue, context, step)
    enqueue.sendTo('tasks', { type: 'tasks.forget', id: ended.id })
    if (ended.isAwaited) for (const each of tasks.newlyAwaited(context, after)) enqueue.emit(askEvent(each))
  }),
  /** The cost of a run is that of its tasks, too: at the limit they do not go on. */
  noteTaskReport: enqueueActions(({ context, self, enqueue }, report: TaskEvent<'task.report'>) => {
    const noted = { ...context, tasks: tasks.noteReport(context, report) }
    const isOver = isSpent(noted)
    const after = isOver ? { ...noted, tasks: tasks.dropQueued(noted, overLimit, recordedTime(self)) } : noted
    enqueue.assign({ tasks: after.tasks })
    if (report.isAwaited) for (const each of tasks.newlyAwaited(context, after)) enqueue.emit(askEvent(each))
    if (isOver)
      enqueue.sendTo('tasks', { type: 'tasks.cancel', ids: tasks.workingIds(after), reason: overLimit })
  }),
  restartTasks: enqueueActions(({ context, enqueue }, { ids }: { ids: readonly string[] }) =>
    startTasks(enqueue, context, tasks.lostTasks(context, ids)),
  ),
  passToTask: forwardTo('tasks'),
  /** A task that is queued can only be aborted. */
  commandTask: enqueueActions(
    ({ context, self, enqueue }, { task: id, command }: Extract<AgentEvent, { type: 'task.command' }>) => {
      const dropped = tasks.dropTask(context, id, command, recordedTime(self))
      if (dropped) enqueue.assign({ tasks: dropped })
      else enqueue.sendTo('tasks', { type: 'tasks.send', id, command })
    },
  ),
  askForTasks: enqueueActions(({ context, enqueue }) => {
    for (const call of tasks.awaitedOfTasks(context)) enqueue.emit(askEvent(call))
  }),
  deliverResult: assign(({ context }) => tasks.deliverResult(context)),
  dismissTasks: enqueueActions(({ context, self, enqueue }) => {
    enqueue.assign(tasks.dismissTasks(context, recordedTime(self)))
    enqueue.stopChild('tasks')
  }),
  noteTaskFailure: assign((_, { error }: { error: unknown }) => ({
    failure: brokenPart(error, 'AwaitingTasks'),
  })),
})

/** An event of a task. `isAwaited`: the run waits for its tasks. */
type TaskEvent<Type> = Extract<AgentEvent, { type: Type }> & { isAwaited?: boolean }

const commandIn = ({ event }: { event: TaskEvent<'task.command'> }) => event

const lateText = ({ event }: { event: TaskEvent<'task.command'> }) => ({ text: tasks.lateTextOf(event) })

/** The events of background agents, in any state, and the decisions on their calls. */
export const taskEvents = deepFreeze({
  'task.finished': {
    actions: { type: 'noteTaskEnd', params: ({ event }: { event: TaskEvent<'task.finished'> }) => event },
  },
  'task.report': {
    actions: { type: 'noteTaskReport', params: ({ event }: { event: TaskEvent<'task.report'> }) => event },
  },
  'task.restored': {
    actions: { type: 'restartTasks', params: ({ event }: { event: TaskEvent<'task.restored'> }) => event },
  },
  'task.command': [
    {
      guard: { type: 'isTaskOpen', params: commandIn },
      actions: { type: 'commandTask', params: commandIn },
    },
    { actions: { type: 'queueSteering', params: lateText } },
  ],
  'tool.approve': { guard: 'isForTask', actions: 'passToTask' },
  'tool.reject': { guard: 'isForTask', actions: 'passToTask' },
  'tool.answer': { guard: 'isForTask', actions: 'passToTask' },
})

/** The child that works on background agents. */
export const taskChild = deepFreeze({
  id: 'tasks',
  src: 'tasks',
  onError: {
    target: '.Failed',
    actions: {
      type: 'noteTaskFailure',
      params: ({ event }: { event: { error: unknown } }) => ({ error: event.error }),
    },
  },
})

const overLimit = 'the run that started it has reached a limit'

/** The part of XState's `enqueue` that a step of the tasks needs. */
type TaskEnqueue = {
  assign(change: Partial<StreamingState>): void
  sendTo(target: 'tasks', event: TaskServiceEvent): void
}

/** Takes a step of the tasks: its data first, so that it is stored before anything starts. */
export const noteTasks = (enqueue: TaskEnqueue, before: StreamingState, step: tasks.TaskStep): void => {
  if (step.tasks.length === 0) return
  enqueue.assign({ tasks: step.tasks })
  startTasks(enqueue, before, step.start)
  if (step.cancel.length > 0)
    enqueue.sendTo('tasks', { type: 'tasks.cancel', ids: step.cancel, reason: 'it was cancelled' })
}

const startTasks = (
  enqueue: Pick<TaskEnqueue, 'sendTo'>,
  { options }: StreamingState,
  started: readonly Task[],
): void => {
  if (started.length === 0) return
  const inputs = started.map(({ id, tool, prompt = '' }) => ({ id, tool, prompt, run: options.id }))
  enqueue.sendTo('tasks', { type: 'tasks.start', tasks: inputs })
}
