import type { ActorLogic, AnyActorRef, AnyActorScope, Snapshot } from 'xstate'
import { describeThrown } from '../../src/messages/errors.ts'
import type { ConfigSource } from '../agent/chartConfig.ts'
import type { AgentCommand, CallCommand, ChildEvent } from '../agent/events.ts'
import { ownOf, without } from '../tools/round.ts'
import { toolsOf } from '../tools/runTools.ts'
import { onStop } from '../tools/toolCall.ts'

/** A task that starts, with the id of the run that it belongs to. */
type TaskInput = { id: string; tool: string; prompt: string; run: string }

/** A run of a task, and the tool that it belongs to. */
type TaskRun<Run> = { tool: string; run: Run }

/** The runs of the tasks that work, by task id: as an actor, or as it was stored. Everything else is in the chart's data. */
type TaskServiceSnapshot = Snapshot<undefined> & {
  runs: { [id: string]: TaskRun<AnyActorRef | Snapshot<unknown>> }
}

export type TaskServiceEvent =
  | { type: 'tasks.start'; tasks: readonly TaskInput[] }
  | { type: 'tasks.cancel'; ids: readonly string[]; reason: string }
  | { type: 'tasks.send'; id: string; command: AgentCommand }
  /** The end of a task is part of the chart's data: its run is not needed any more. */
  | { type: 'tasks.forget'; id: string }
  | { type: 'task.made'; id: string; tool: string; run: AnyActorRef }
  | CallCommand

/**
 * The background agents of a run as a service, which lives as long as the run does. It runs the tasks that the chart
 * sends it, and passes decisions on to them. A run that has ended is kept until the chart has noted its end, so that a
 * snapshot of any moment has the one or the other.
 */
export const taskService = (
  configOf: ConfigSource['of'],
): ActorLogic<TaskServiceSnapshot, TaskServiceEvent, undefined> => {
  const restored = new WeakSet<AnyActorRef>()

  const begin = ({ tool, ...task }: TaskInput & { stored?: Snapshot<unknown> }, self: AnyActorRef): void => {
    try {
      const background = toolsOf(configOf(self), self).get(tool)?.background
      if (!background) throw new TypeError(`The agent has no background agent "${tool}" any more.`)
      self.send({ type: 'task.made', id: task.id, tool, run: background.run(task, self) })
    } catch (thrown) {
      report(self, { type: 'task.finished', id: task.id, status: 'failed', text: describeThrown(thrown) })
    }
  }

  return {
    getInitialSnapshot: () => ({ status: 'active', output: undefined, error: undefined, runs: {} }),

    start: ({ runs }, scope) => {
      const { self } = scope
      onStop(self, () => stopRuns(scope))
      if (!restored.has(self)) return
      for (const [id, { tool, run }] of Object.entries(runs))
        if (!isActor(run)) begin({ id, tool, prompt: '', run: '', stored: run }, self)
      report(self, { type: 'task.restored', ids: Object.keys(runs) })
    },

    transition: (snapshot, event, scope) => {
      const { self } = scope
      switch (event.type) {
        case 'tasks.start':
          scope.defer(() => {
            for (const task of event.tasks) begin(task, self)
          })
          return snapshot
        case 'task.made': {
          const { id, tool, run } = event
          scope.defer(() => run.start())
          return { ...snapshot, runs: { ...snapshot.runs, [id]: { tool, run } } }
        }
        case 'tasks.cancel':
          scope.defer(() => {
            for (const id of event.ids)
              send(ownOf(snapshot.runs, id)?.run, { type: 'abort', reason: event.reason })
          })
          return snapshot
        case 'tasks.send':
          scope.defer(() => send(ownOf(snapshot.runs, event.id)?.run, event.command))
          return snapshot
        case 'tasks.forget':
          return { ...snapshot, runs: without(snapshot.runs, event.id) }
        case 'tool.approve':
        case 'tool.reject':
        case 'tool.answer':
          scope.defer(() => passOn(snapshot, event))
          return snapshot
        default:
          // The ends of the runs, which report them themselves.
          return snapshot
      }
    },

    getPersistedSnapshot: (snapshot) => ({
      ...snapshot,
      runs: Object.fromEntries(
        Object.entries(snapshot.runs).map(([id, { tool, run }]) => [id, { tool, run: persisted(run) }]),
      ),
    }),
    restoreSnapshot: (stored, { self }) => {
      restored.add(self)
      return stored as TaskServiceSnapshot
    },
  }
}

const isActor = (run: AnyActorRef | Snapshot<unknown>): run is AnyActorRef => 'send' in run

const persisted = (run: AnyActorRef | Snapshot<unknown>): Snapshot<unknown> =>
  isActor(run) ? run.getPersistedSnapshot() : run

const report = (self: AnyActorRef, event: ChildEvent): void => self._parent?.send(event)

const send = (run: AnyActorRef | Snapshot<unknown> | undefined, command: AgentCommand): void => {
  if (run && isActor(run)) run.send(command)
}

/** Passes a decision on to the run of a task, which ignores what it did not ask. */
const passOn = ({ runs }: TaskServiceSnapshot, command: CallCommand): void => {
  for (const [id, { run }] of Object.entries(runs)) {
    if (!command.callId.startsWith(`${id}/`) || !isActor(run)) continue
    run.send({ ...command, callId: command.callId.slice(id.length + 1) })
  }
}

/** Ends the tasks with their run. One that is detached outlives the end of the run, but not a stop of its actor: it is stored, too. */
const stopRuns = ({ self, stopChild }: AnyActorScope): void => {
  const { runs }: TaskServiceSnapshot = self.getSnapshot()
  const isEnd = self._parent?.getSnapshot().status === 'done'
  for (const { run } of Object.values(runs)) {
    if (!isActor(run) || (isEnd && !run._parent)) continue
    // An actor that is stopped before its end is stored, too: what works elsewhere works on.
    if (isEnd) run.send({ type: 'abort', reason: 'the run that started it has ended' })
    if (run._parent) stopChild(run)
    else if ('stop' in run) run.stop()
  }
}
