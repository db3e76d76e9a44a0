import { type AnyActorLogic, type AnyActorRef, assign, createActor, fromPromise, setup } from 'xstate'
import { ConfigurationError, describeThrown } from '../../src/messages/errors.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { Clock } from '../../src/model/clock.ts'
import type { BackgroundAgent, BackgroundTask, OnInterrupted } from '../../src/tools/tool.ts'
import type { ChildEvent, TaskEnd } from '../agent/events.ts'
import { hostOf } from '../logic/runEnvironment.ts'
import { runMachine } from '../logic/runMachine.ts'
import { clockOf } from '../logic/systemTime.ts'

/** A tool whose server works on a call by itself, and answers with the id of a task. */
type RemoteTool = {
  /** Calls the tool, and returns the id of the task. A task that comes after the signal was aborted is cancelled. */
  ask(args: JsonObject, signal: AbortSignal): Promise<string>
  /** Waits for the end of a task that began at this time. A second call for the same task changes nothing. */
  follow(taskId: string, startedAt: number, clock: Clock, signal: AbortSignal): Promise<RemoteEnd>
  /** Cancels a task, if the server can still be reached. */
  cancel(taskId: string): void
  /** Decides on a call whose process ended before it had the id of its task. */
  onInterrupted: OnInterrupted
}

/** The end of a remote task: its text, or the reason why it has none. */
export type RemoteEnd = { status: TaskEnd; text: string }

type RemoteState = {
  args: JsonObject
  startedAt: number
  /** The id that the server gave it. */
  taskId: string
  end: RemoteEnd | null
}

/** Recognises the snapshot of a remote task among those of agents. */
export const isRemoteTask = (snapshot: unknown): boolean =>
  typeof Object(Object(snapshot).context).taskId === 'string'

type Asked = { taskId: string } | { end: RemoteEnd }
type AskInput = Pick<RemoteState, 'args'>
type FollowInput = Pick<RemoteState, 'taskId' | 'startedAt'>

const failed = (text: string): RemoteEnd => ({ status: 'failed', text })

const inDoubt =
  'The process ended while this tool was being called; whether it took effect is unknown. Find out before you call it again.'

/** The call of the tool, which is made once: of a restored one, only its answer is missing. */
const askLogic = ({ ask, onInterrupted }: RemoteTool, isRestored: boolean) =>
  fromPromise<Asked, AskInput>(async ({ input: { args }, signal }) => {
    if (isRestored && onInterrupted !== 'rerun') return { end: failed(inDoubt) }
    // A value, and not a rejection: a stored error would lose its text.
    return await ask(args, signal).then(
      (taskId) => ({ taskId }),
      (thrown) => ({ end: failed(describeThrown(thrown)) }),
    )
  })

const followLogic = ({ follow }: RemoteTool) =>
  fromPromise<RemoteEnd, FollowInput>(({ input: { taskId, startedAt }, signal, self }) =>
    follow(taskId, startedAt, clockOf(self), signal).catch((thrown) => failed(describeThrown(thrown))),
  )

/** The chart of a remote task. Its id is part of the snapshot before anything waits for it, so that it outlives this process. */
const remoteChart = (remote: RemoteTool, isRestored: boolean) =>
  setup({
    types: {
      context: {} as RemoteState,
      input: {} as Pick<RemoteState, 'args' | 'startedAt'>,
      output: {} as RemoteEnd,
      events: {} as { type: 'abort'; reason?: string },
    },
    actors: { ask: askLogic(remote, isRestored), follow: followLogic(remote) },
    actions: {
      keepId: assign((_, { taskId }: { taskId: string }) => ({ taskId })),
      finish: assign((_, { end }: { end: RemoteEnd }) => ({ end })),
      cancel: ({ context }) => remote.cancel(context.taskId),
    },
  }).createMachine({
    id: 'remoteTask',
    context: ({ input }) => ({ ...input, taskId: '', end: null }),
    output: ({ context }) => context.end ?? failed('It ended without a result.'),
    initial: 'Asking',
    on: {
      abort: {
        target: '.Over',
        actions: { type: 'finish', params: ({ event }) => ({ end: abortedEnd(event.reason) }) },
      },
    },
    states: {
      Asking: {
        description: 'Calls the tool. The answer of the server is the id of a task.',
        invoke: {
          id: 'ask',
          src: 'ask',
          input: ({ context }) => ({ args: context.args }),
          onDone: [
            {
              guard: ({ event }) => 'taskId' in event.output,
              target: 'Working',
              actions: { type: 'keepId', params: ({ event }) => ({ taskId: idIn(event.output) }) },
            },
            {
              target: 'Over',
              actions: { type: 'finish', params: ({ event }) => ({ end: endIn(event.output) }) },
            },
          ],
        },
      },
      Working: {
        description: 'The server works on the task, and is asked for its status now and then.',
        invoke: {
          id: 'follow',
          src: 'follow',
          input: ({ context: { taskId, startedAt } }) => ({ taskId, startedAt }),
          onDone: {
            target: 'Over',
            actions: { type: 'finish', params: ({ event }) => ({ end: event.output }) },
          },
        },
        on: {
          abort: {
            target: 'Over',
            actions: [
              'cancel',
              { type: 'finish', params: ({ event }) => ({ end: abortedEnd(event.reason) }) },
            ],
          },
        },
      },
      Over: { type: 'final' },
    },
  })

const abortedEnd = (reason = ''): RemoteEnd => ({ status: 'aborted', text: reason || 'no reason given' })

const idIn = (asked: Asked): string => ('taskId' in asked ? asked.taskId : '')
const endIn = (asked: Asked): RemoteEnd => ('end' in asked ? asked.end : failed(''))

/** The logic of a task. A copy of the machine, because traces would take that for a run of an agent. */
const taskLogic = (remote: RemoteTool, isRestored: boolean): AnyActorLogic => ({
  ...runMachine(remoteChart(remote, isRestored), { hasJsonContext: true }),
})

/** Makes a value when it is first needed: a server may list many tools that are never called. */
const once = <T>(make: () => T): (() => T) => {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/** The part of a tool that makes the tasks of a run from its calls, and a remote task from each of them. */
export const remoteBackground = (remote: RemoteTool, maxTasks: number): BackgroundAgent => {
  const fresh = once(() => taskLogic(remote, false))
  const restored = once(() => taskLogic(remote, true))
  const run = ({ id, prompt, stored }: BackgroundTask, self: AnyActorRef): AnyActorRef => {
    if (hostOf(self).newId)
      throw new ConfigurationError('Tasks of an MCP server cannot run on DBOS: use an SQLite store.')
    const actor = createActor(stored ? restored() : fresh(), {
      input: stored ? undefined : { args: JSON.parse(prompt), startedAt: clockOf(self).now() },
      id: `task:${id}`,
      parent: self,
      ...(stored && { snapshot: stored }),
    })
    const finish = (end: RemoteEnd) => {
      const event: ChildEvent = { type: 'task.finished', id, ...end }
      self._parent?.send(event)
    }
    actor.subscribe({
      complete: () => {
        const { status, output } = actor.getSnapshot()
        if (status === 'done') finish(output)
      },
      error: (thrown) => finish(failed(describeThrown(thrown))),
    })
    return actor
  }
  return { run, promptOf: (args) => JSON.stringify(args), detached: false, maxTasks }
}
