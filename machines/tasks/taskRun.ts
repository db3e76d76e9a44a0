import { type AnyActorRef, createActor, type Snapshot } from 'xstate'
import { ConfigurationError, describeThrown } from '../../src/messages/errors.ts'
import type { Usage } from '../../src/messages/result.ts'
import type { BackgroundTask } from '../../src/tools/tool.ts'
import { isRunResult } from '../agent/agentOutput.ts'
import type { AgentMachine } from '../agent/agentSnapshot.ts'
import type { ChildEvent } from '../agent/events.ts'
import { hostOf, type RunHost, valuesOf, withHost, withValues } from '../logic/runEnvironment.ts'
import { clockOf } from '../logic/systemTime.ts'
import { isRun, waitIn } from '../tools/pendingCalls.ts'
import { keysOf } from '../tools/round.ts'
import { endedTasks, endOf, familyUsage } from './tasks.ts'

/**
 * Makes the actor of a task. It is below the service that starts it, and is stored and restored with it; one that is
 * detached is a root of its own, because it outlives the run. The run above the service gets what the task waits for,
 * what it has used, and its end.
 */
export const taskRun = (
  machine: AgentMachine,
  detached: boolean,
  { id, prompt, run, stored }: BackgroundTask,
  self: AnyActorRef,
): AnyActorRef => {
  const host = hostOf(self)
  checkHost(host, detached)
  // The other values of the run that calls are not for this one.
  const { context } = valuesOf(self)
  const own = withValues(machine, { context })
  const actor = createActor(host.ofTask ? withHost(own, host.ofTask()) : own, {
    input: { prompt, id: `${run}/${id}` },
    id: `task:${id}`,
    ...(detached ? { clock: clockOf(self) } : { parent: self }),
    ...(stored && { snapshot: stored }),
  })
  const report = (event: ChildEvent) => self._parent?.send(event)
  let reported = stored ? undefined : keyOf({ calls: [], isAtWork: true })
  let reportedUsage: Usage | null = null
  actor.subscribe({
    next: (snapshot: Snapshot<unknown>) => {
      if (snapshot.status !== 'active') return
      const wait = waitIn(snapshot)
      const usage = usageIn(snapshot)
      const key = keyOf(wait)
      if (key === reported && usage === reportedUsage) return
      reported = key
      reportedUsage = usage
      report({ type: 'task.report', id, ...wait, ...(usage && { usage }) })
    },
    complete: () => {
      const { status, output, context } = actor.getSnapshot()
      const known = isRun(context)
        ? { step: context.step, ...(context.tasks && { tasks: endedTasks(context) }) }
        : {}
      if (status === 'done') report({ type: 'task.finished', id, ...endOf(output), ...known })
    },
    error: (thrown) => report({ type: 'task.finished', id, status: 'failed', text: describeThrown(thrown) }),
  })
  return actor
}

/**
 * Refuses what a host cannot keep: a store keeps a task with its run, so a task that outlives the run would be lost, and
 * an engine that replays a run records the order of the results only for an agent with background agents of its own.
 */
const checkHost = ({ writeAhead, newId, ofTask }: RunHost, detached: boolean): void => {
  if (newId && !ofTask)
    throw new ConfigurationError(
      'A sub-agent of a run on DBOS cannot start background agents: give them to the agent that was started.',
    )
  if ((writeAhead || newId) && detached)
    throw new ConfigurationError('A detached background agent cannot run in a store: leave out detached.')
}

const keyOf = ({ calls, isAtWork, due }: ReturnType<typeof waitIn>): string =>
  `${isAtWork} ${due} ${keysOf(calls)}`

/** The usage so far. While nothing changes, it is the same object. */
const usageIn = (snapshot: Snapshot<unknown>): Usage | null => {
  const { context } = Object(snapshot)
  if (isRun(context)) return context.tasks ? familyUsage(context) : context.totals.usage
  return isRunResult(context) ? context.totals.usage : null
}
