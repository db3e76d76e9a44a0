import { type ActorLogic, type AnyActorRef, type AnyActorScope, createActor, type Snapshot } from 'xstate'
import { appended, countOf } from '../../src/messages/growing.ts'
import type { JsonValue } from '../../src/messages/json.ts'
import type { ToolCallPart, ToolResultPart } from '../../src/messages/messages.ts'
import type { PendingCall, Usage } from '../../src/messages/result.ts'
import { LazySignal } from '../../src/tools/lazySignal.ts'
import type { Attempt, ExecutionOptions } from '../../src/tools/toolExecutor.ts'
import { asToolResult } from '../../src/tools/toolResult.ts'
import type { ResolvedConfig, ToolExecution } from '../agent/agentConfig.ts'
import type { AgentCommand, ChildEvent } from '../agent/events.ts'
import { hostOf, tracerOf, valuesOf } from '../logic/runEnvironment.ts'
import { clockIn } from '../logic/systemTime.ts'
import { toolsOf } from './runTools.ts'
import { type CallOutput, callLogic, onStop, progressReport, settled, UsageCount } from './toolCall.ts'
import {
  addressed,
  below,
  noProgress,
  ownOf,
  progressed,
  resumed,
  type ToolProgress,
  type ToolServiceInput,
  type ToolServiceSnapshot,
  unfinished,
  waitsFor,
  withResult,
} from './toolProgress.ts'

type ToolServiceEvent =
  | { type: `xstate.done.actor.call:${string}`; output: CallOutput }
  | { type: 'batch.result'; output: CallOutput }
  /** Calls begin in the place of one that has finished. */
  | { type: 'calls.begin'; calls: ToolCallPart[] }
  | { type: 'batch.finished'; results: ToolResultPart[]; usage?: Usage }
  | { type: 'batch.failed'; error: unknown }
  /** What was left for a sub-agent can be passed on. */
  | { type: 'commands.due'; callId: string }
  | CallReport
  | Extract<AgentCommand, { callId: string }>

/** What a call reports: how far it has come; of a sub-agent, its run, before that starts, and what the run waits for. */
export type CallReport =
  | { type: 'call.progress'; callId: string; value: JsonValue }
  | { type: 'call.run'; callId: string; run: AnyActorRef }
  | { type: 'call.waits'; callId: string; calls: PendingCall[] }

/**
 * The tool executor as a service: runs the calls of one turn and reports to the agent what starts and what ends. Each
 * call is its own actor, which calls `executeSingle`; a user's `executeBatch` takes the whole turn. A call that has its
 * result never runs again; if a call was running when the service was stored, its tool says what happens to it.
 */
export const toolService = (
  config: ResolvedConfig,
): ActorLogic<ToolServiceSnapshot, ToolServiceEvent, ToolServiceInput> => {
  const atOnce = config.executeBatch ? Number.POSITIVE_INFINITY : concurrencyOf(config.toolExecution)
  const call = callLogic(config)
  /** What runs for a service, by its actor: how to stop it. */
  const running = new WeakMap<AnyActorRef, Set<() => void>>()

  const run = (calls: ToolCallPart[], progress: ToolProgress, scope: AnyActorScope): void => {
    const stops = running.get(scope.self)
    if (!stops || calls.length === 0) return
    if (config.executeBatch) stops.add(runBatch(config.executeBatch, calls, progress, scope, config))
    else
      for (const each of calls) {
        const stored = ownOf(progress.runs, each.id)
        const actor = createActor(call, {
          id: `call:${each.id}`,
          parent: scope.self,
          input: {
            call: each,
            attempt: attemptAt(progress, each.id),
            run: progress.run,
            ...(isStored(stored) && { stored }),
          },
        })
        stops.add(() => scope.stopChild(actor))
        actor.start()
      }
  }

  /**
   * A run that reports is in the middle of a step, and takes nothing before that is over. What it is sent must not be
   * stored as passed on until then.
   */
  const deliverSoon = (callId: string, scope: AnyActorScope): void => {
    let isStopped = false
    running.get(scope.self)?.add(() => {
      isStopped = true
    })
    queueMicrotask(() => {
      if (!isStopped) scope.self.send({ type: 'commands.due', callId })
    })
  }

  /** Reports that the turn waits, or for less or more than before, or no longer. What it still waits for is known. */
  const reportWait = (before: ToolProgress, after: ToolProgress, scope: AnyActorScope): void => {
    if (isEmpty(before.waiting) && isEmpty(after.waiting)) return
    const known = waitsFor(before).map(keyOf)
    const calls = waitsFor(after)
    if (JSON.stringify(calls.map(keyOf)) === JSON.stringify(known)) return
    const fresh = calls.filter((call) => !known.includes(keyOf(call)))
    scope.defer(() =>
      tellAgent(scope, calls.length > 0 ? { type: 'tool.waiting', calls: fresh } : { type: 'tool.working' }),
    )
  }

  return {
    getInitialSnapshot: (_, input) => progressed(noProgress(input), atOnce),

    // Fresh or restored: every call that has started and has no result runs, unless a person is asked first.
    start: (snapshot, scope) => {
      const stops = new Set<() => void>()
      running.set(scope.self, stops)
      onStop(scope.self, () => {
        for (const stop of stops) stop()
      })
      const { inDoubt, interruptions } = snapshot
      const results = snapshot.results.flat()
      if (inDoubt.length > 0) {
        const runs = storedRuns(snapshot)
        tellAgent(scope, { type: 'tool.interrupted', inDoubt, interruptions, runs, results })
        return
      }
      const calls = unfinished(snapshot)
      tellAgent(scope, { type: 'tool.started', calls, ...(results.length > 0 && { results }) })
      run(calls, snapshot, scope)
    },

    transition: (snapshot, event, scope) => {
      switch (event.type) {
        case 'batch.finished': {
          const given = new Map(event.results.map((result) => [result?.id, result]))
          const missing = unfinished(snapshot).map((each) => asToolResult(each, given.get(each.id)))
          return progressed(
            { ...snapshot, results: appended(snapshot.results, missing) },
            atOnce,
            event.usage,
          )
        }
        case 'calls.begin':
          scope.defer(() => run(event.calls, snapshot, scope))
          return snapshot
        case 'batch.failed':
          return { ...snapshot, status: 'error', error: event.error, output: undefined }
        case 'call.progress': {
          const { callId, value } = event
          scope.defer(() => tellAgent(scope, { type: 'tool.progress', callId, value }))
          return snapshot
        }
        case 'call.run':
          return { ...snapshot, runs: { ...snapshot.runs, [event.callId]: event.run } }
        case 'call.waits': {
          const waiting = { ...snapshot.waiting, [event.callId]: below(event.callId, event.calls) }
          if (ownOf(snapshot.commands, event.callId)) deliverSoon(event.callId, scope)
          reportWait(snapshot, { ...snapshot, waiting }, scope)
          return { ...snapshot, waiting }
        }
        case 'commands.due':
          return { ...snapshot, commands: delivered(snapshot, event.callId, scope) }
        case 'tool.approve':
        case 'tool.reject':
        case 'tool.answer':
          return commanded(snapshot, event, scope)
        default: {
          // Other events are not ours, such as the end of an actor that a user's batch started.
          const isEnd = event.type === 'batch.result' || event.type.startsWith('xstate.done.actor.call:')
          if (!isEnd) return snapshot
          const { result, usage } = event.output
          // A call ends once, but a user's batch may report it again.
          const isTold = () => snapshot.results.flat().some(({ id }) => id === result.id)
          if (event.type === 'batch.result' && isTold()) return snapshot
          const next = progressed(withResult(snapshot, result), atOnce, usage)
          // The last result is reported with the end. Others once this is committed: a listener that stores the run on a
          // result finds it here, too.
          if (next.status === 'active')
            scope.defer(() => {
              const calls = next.calls.slice(countOf(snapshot.begun), countOf(next.begun))
              tellAgent(scope, { type: 'tool.finished', result, calls, ...(usage && { usage }) })
              // A listener that gets the result may end the run: a stop comes before this, and then nothing starts.
              scope.self.send({ type: 'calls.begin', calls })
            })
          reportWait(snapshot, next, scope)
          return next
        }
      }
    },

    getPersistedSnapshot: (snapshot) => ({ ...snapshot, runs: storedRuns(snapshot) }),
    restoreSnapshot: (stored, { self }) => {
      const progress = resumed(stored as ToolServiceSnapshot, toolsOf(config, self))
      return progressed(progress, progress.inDoubt.length > 0 ? 0 : atOnce)
    },
  }
}

const concurrencyOf = (execution: ToolExecution): number => {
  if (typeof execution === 'object') return execution.concurrency
  return execution === 'parallel' ? Number.POSITIVE_INFINITY : 1
}

const attemptAt = ({ run, round, interruptions }: ToolProgress, callId: string): Attempt => ({
  attempt: 1 + (ownOf(interruptions, callId) ?? 0),
  idempotencyKey: `${run}/${callId}/${round}`,
})

const keyOf = ({ kind, id }: PendingCall): string => `${kind} ${id}`

const isEmpty = (record: object): boolean => Object.keys(record).length === 0

const isActor = (run: AnyActorRef | Snapshot<unknown>): run is AnyActorRef => 'send' in run

const isStored = (run: AnyActorRef | Snapshot<unknown> | undefined): run is Snapshot<unknown> =>
  run !== undefined && !isActor(run)

const storedRuns = ({ runs }: ToolProgress): { [callId: string]: Snapshot<unknown> } =>
  Object.fromEntries(Object.entries(runs).map(([id, run]) => [id, isActor(run) ? persisted(run) : run]))

const persisted = (run: AnyActorRef): Snapshot<unknown> => run.getPersistedSnapshot()

/** Passes a command on to the run of a sub-agent; one that was restored, and is not there yet, gets it later. */
const commanded = (
  snapshot: ToolServiceSnapshot,
  command: Extract<AgentCommand, { callId: string }>,
  scope: AnyActorScope,
): ToolServiceSnapshot => {
  const to = addressed(snapshot, command.callId)
  const run = to && ownOf(snapshot.runs, to.id)
  if (!run) return snapshot
  const inner = { ...command, callId: to.inner }
  if (isActor(run)) {
    scope.defer(() => run.send(inner))
    return snapshot
  }
  // No step of a chart follows that would be written down.
  scope.defer(() => hostOf(scope.self).writeAhead?.())
  const { commands } = snapshot
  return { ...snapshot, commands: { ...commands, [to.id]: [...(ownOf(commands, to.id) ?? []), inner] } }
}

/** What has waited for a run is passed on to it. */
const delivered = (
  { commands, runs }: ToolProgress,
  callId: string,
  scope: AnyActorScope,
): ToolProgress['commands'] => {
  const { [callId]: due = [], ...rest } = commands
  const run = ownOf(runs, callId)
  if (!run || !isActor(run)) return commands
  scope.defer(() => {
    for (const command of due) run.send(command)
  })
  return rest
}

const tellAgent = ({ self }: AnyActorScope, event: ChildEvent): void => self._parent?.send(event)

/** A user's batch. Returns the function that stops it. */
const runBatch = (
  executeBatch: NonNullable<ResolvedConfig['executeBatch']>,
  calls: ToolCallPart[],
  progress: ToolProgress,
  { self, system }: AnyActorScope,
  config: ResolvedConfig,
): (() => void) => {
  const end = new LazySignal()
  const used = new UsageCount()
  let isStopped = false
  /** A batch may continue after its stop; its results are ignored then. */
  const tell = (event: ToolServiceEvent) => {
    if (!isStopped) self.send(event)
  }
  const attempt = (callId: string) => attemptAt(progress, callId)
  const options: ExecutionOptions = {
    get signal() {
      return end.signal
    },
    clock: clockIn(system),
    self,
    context: valuesOf(self).context,
    attemptAt: attempt,
    report: (callId, value) => tell(progressReport(callId, value)),
    addUsage: used.add,
    onResult: (given) => {
      const call = calls.find(({ id }) => id === given?.id)
      if (call) tell({ type: 'batch.result', output: { result: asToolResult(call, given), ...used.take() } })
    },
  }
  const execute = () => {
    const tools = toolsOf(config, self)
    const traced = { calls, tools, attemptAt: attempt, hide: config.hide }
    return tracerOf(self).calls(self, traced, () => executeBatch(calls, tools, options))
  }
  settled(
    execute,
    (results) =>
      tell(
        Array.isArray(results)
          ? { type: 'batch.finished', results, ...used.take() }
          : { type: 'batch.failed', error: new TypeError('executeBatch did not return a list of results') },
      ),
    (error) => tell({ type: 'batch.failed', error }),
  )
  return () => {
    isStopped = true
    end.abort()
  }
}
