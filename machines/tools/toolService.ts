import { type ActorLogic, type AnyActorRef, type AnyActorScope, createActor, type Snapshot } from 'xstate'
import type { JsonValue } from '../../src/messages/json.ts'
import type { ToolCallPart, ToolResultPart } from '../../src/messages/messages.ts'
import { addUsage, type PendingCall, type Usage } from '../../src/messages/result.ts'
import { LazySignal } from '../../src/tools/lazySignal.ts'
import { errorOf, reportToolError, withError } from '../../src/tools/toolError.ts'
import type { ExecutionOptions } from '../../src/tools/toolExecutor.ts'
import { asToolResult } from '../../src/tools/toolResult.ts'
import type { ResolvedConfig } from '../agent/agentConfig.ts'
import type { ConfigSource } from '../agent/chartConfig.ts'
import type { CallCommand, ChildEvent } from '../agent/events.ts'
import { tracerOf, valuesOf } from '../logic/runEnvironment.ts'
import { clockOf } from '../logic/systemTime.ts'
import { ownOf, without } from './round.ts'
import { toolsOf } from './runTools.ts'
import {
  attemptOf,
  type CallInput,
  type CallOutput,
  callLogic,
  isReplaced,
  onStop,
  progressReport,
  replacedResult,
  settled,
  UsageCount,
} from './toolCall.ts'

/** The rest of a turn, for an executor that a user provides: ours is sent the calls that start. */
export type ToolServiceInput = {
  calls: ToolCallPart[]
  /** The id of the run. */
  run: string
  /** The id of the round, which is part of the idempotency keys of its calls. */
  round: string
  /** The number of times that each call was cut off by the end of its process. */
  interruptions: { [callId: string]: number }
  /** The stored runs of sub-agents to continue. */
  runs: { [callId: string]: Snapshot<unknown> }
}

/** The output of an executor that a user provides; ours reports each result, and is stopped after the last one. */
export type ToolServiceOutput = { results: ToolResultPart[]; usage?: Usage }

/** The runs of sub-agents, by call id: as an actor, or as it was stored. Everything else about a call is in the round. */
type ToolServiceSnapshot = Snapshot<ToolServiceOutput> & {
  runs: { [callId: string]: AnyActorRef | Snapshot<unknown> }
}

export type ToolServiceEvent =
  /** The chart has started these calls, and stored that. */
  | { type: 'calls.run'; calls: CallInput[] }
  | { type: `xstate.done.actor.call:${string}`; output: CallOutput }
  /** Calls that have ended at the same time. */
  | { type: 'calls.finished'; outputs: readonly CallOutput[] }
  | { type: 'batch.finished'; results: ToolResultPart[]; usage?: Usage }
  | { type: 'batch.failed'; error: unknown }
  | CallReport
  | CallCommand

/** A report of a call: its progress; of a sub-agent, its run, before that starts, and what the run waits for. */
export type CallReport =
  | { type: 'call.progress'; callId: string; value: JsonValue }
  | { type: 'call.run'; callId: string; run: AnyActorRef }
  | { type: 'call.waits'; callId: string; calls: PendingCall[]; isAtWork: boolean }

/**
 * The tool executor as a service: runs the calls that the chart sends it, and reports what comes of them. Each call is
 * its own actor, which calls `executeSingle`; a user's `executeBatch` takes the whole turn. A restored service runs
 * nothing by itself: the chart decides what happens to the calls that were cut off.
 */
export const toolService = (
  configOf: ConfigSource['of'],
): ActorLogic<ToolServiceSnapshot, ToolServiceEvent, ToolServiceInput> => {
  const call = callLogic(configOf)
  const restored = new WeakSet<AnyActorRef>()
  /** The functions that stop what runs for a service, by its actor. */
  const running = new WeakMap<AnyActorRef, Set<() => void>>()
  /** The outcomes of calls that a service is about to report. */
  const unreported = new WeakMap<AnyActorRef, CallOutput[]>()

  const run = (calls: CallInput[], { runs }: ToolServiceSnapshot, scope: AnyActorScope): void => {
    const stops = running.get(scope.self)
    if (!stops) return
    const config = configOf(scope.self)
    if (config.executeBatch) {
      stops.add(runBatch(config.executeBatch, calls, scope, config))
      return
    }
    for (const each of calls) {
      const stored = ownOf(runs, each.call.id)
      const actor = createActor(call, {
        id: `call:${each.call.id}`,
        parent: scope.self,
        input: { ...each, ...(isStored(stored) && { stored }) },
      })
      stops.add(() => scope.stopChild(actor))
      actor.start()
    }
  }

  /**
   * The run of a sub-agent reports itself before it starts, and takes decisions once it has started: what it is sent
   * earlier would be stored as passed on before it is stored as received.
   */
  const reportResumed = (callId: string, { self }: AnyActorScope): void => {
    let isStopped = false
    running.get(self)?.add(() => {
      isStopped = true
    })
    queueMicrotask(() => {
      if (!isStopped) report(self, { type: 'tool.resumed', callId })
    })
  }

  /** Collects results: those that come at the same time, as the results of instant tools do, are one report. */
  const collect = (output: CallOutput, { self }: AnyActorScope): void => {
    const others = unreported.get(self)
    if (others) {
      others.push(output)
      return
    }
    const outputs = [output]
    unreported.set(self, outputs)
    queueMicrotask(() => {
      unreported.delete(self)
      if (running.has(self)) self.send({ type: 'calls.finished', outputs })
    })
  }

  return {
    getInitialSnapshot: (_, { runs }) => ({ status: 'active', output: undefined, error: undefined, runs }),

    start: (snapshot, { self }) => {
      const stops = new Set<() => void>()
      running.set(self, stops)
      onStop(self, () => {
        running.delete(self)
        for (const stop of stops) stop()
      })
      if (restored.has(self)) report(self, { type: 'tool.restored', runs: storedRuns(snapshot) })
    },

    transition: (snapshot, event, scope) => {
      const { self } = scope
      switch (event.type) {
        case 'calls.run':
          scope.defer(() => run(event.calls, snapshot, scope))
          return snapshot
        case 'calls.finished': {
          // Within a step of the service, so that a run that its listeners end here starts no other call.
          const { outputs } = event
          scope.defer(() => report(self, finishedEvent(outputs)))
          return snapshot
        }
        case 'batch.finished': {
          const { results, usage } = event
          scope.defer(() => report(self, { type: 'tool.finished', results, ...(usage && { usage }) }))
          return snapshot
        }
        case 'batch.failed':
          return { ...snapshot, status: 'error', error: event.error, output: undefined }
        case 'call.progress': {
          const { callId, value } = event
          scope.defer(() => report(self, { type: 'tool.progress', callId, value }))
          return snapshot
        }
        case 'call.run': {
          const { callId } = event
          if (isStored(ownOf(snapshot.runs, callId))) reportResumed(callId, scope)
          return { ...snapshot, runs: { ...snapshot.runs, [callId]: event.run } }
        }
        case 'call.waits': {
          const { callId, isAtWork } = event
          const calls = event.calls.map((each) => ({ ...each, id: `${callId}/${each.id}` }))
          scope.defer(() => report(self, { type: 'tool.waiting', callId, calls, isAtWork }))
          return snapshot
        }
        case 'tool.approve':
        case 'tool.reject':
        case 'tool.answer':
          scope.defer(() => passOn(snapshot, event, self))
          return snapshot
        default: {
          // Other events are not ours, such as the end of an actor that a user's batch started.
          if (!event.type.startsWith('xstate.done.actor.call:')) return snapshot
          const { output } = event
          scope.defer(() => collect(output, scope))
          const runs = without(snapshot.runs, output.result.id)
          return runs === snapshot.runs ? snapshot : { ...snapshot, runs }
        }
      }
    },

    getPersistedSnapshot: (snapshot) => ({ ...snapshot, runs: storedRuns(snapshot) }),
    restoreSnapshot: (stored, { self }) => {
      restored.add(self)
      return stored as ToolServiceSnapshot
    },
  }
}

const finishedEvent = (outputs: readonly CallOutput[]): ChildEvent => {
  const usage = outputs.reduce((sum: Usage | undefined, output) => addUsage(sum, output.usage), undefined)
  return { type: 'tool.finished', results: outputs.map(({ result }) => result), ...(usage && { usage }) }
}

const isActor = (run: AnyActorRef | Snapshot<unknown>): run is AnyActorRef => 'send' in run

const isStored = (run: AnyActorRef | Snapshot<unknown> | undefined): run is Snapshot<unknown> =>
  run !== undefined && !isActor(run)

const storedRuns = ({ runs }: ToolServiceSnapshot): { [callId: string]: Snapshot<unknown> } =>
  Object.fromEntries(Object.entries(runs).map(([id, run]) => [id, isActor(run) ? persisted(run) : run]))

const persisted = (run: AnyActorRef): Snapshot<unknown> => run.getPersistedSnapshot()

const report = (self: AnyActorRef, event: ChildEvent): void => self._parent?.send(event)

/**
 * Passes a decision on to the run of a sub-agent; the chart keeps it for one that was restored and is not there yet. The id
 * of a call may hold a slash, so that the decision may seem to be for two runs: the one that did not ask ignores it.
 */
const passOn = ({ runs }: ToolServiceSnapshot, command: CallCommand, self: AnyActorRef): void => {
  for (const [callId, run] of Object.entries(runs)) {
    if (!command.callId.startsWith(`${callId}/`)) continue
    if (isActor(run)) run.send({ ...command, callId: command.callId.slice(callId.length + 1) })
    else report(self, { type: 'tool.postponed', callId, command })
  }
}

/** A user's batch. Returns the function that stops it. */
const runBatch = (
  executeBatch: NonNullable<ResolvedConfig['executeBatch']>,
  inputs: CallInput[],
  { self }: AnyActorScope,
  config: ResolvedConfig,
): (() => void) => {
  const end = new LazySignal()
  const used = new UsageCount()
  const calls = inputs.map(({ call }) => call)
  /** The calls without a result: a call ends once, but a batch may report it again. */
  const open = new Map(calls.map((call) => [call.id, call]))
  let isStopped = false
  /** A batch may continue after its stop, and after its last result; what it reports is ignored then. */
  const send = (event: ToolServiceEvent) => {
    if (!isStopped) self.send(event)
  }
  /** Takes a result as the batch gave it, with the exception that it was made of. */
  const taken = (call: ToolCallPart, given: ToolResultPart | undefined): ToolResultPart => {
    const error = given && errorOf(given)
    reportToolError(config.onToolError, error, call)
    return withError(asToolResult(call, given), error)
  }
  const finish = (results: ToolResultPart[]) => {
    for (const { id } of results) open.delete(id)
    if (results.length > 0) send({ type: 'batch.finished', results, ...used.take() })
  }
  const [first] = inputs
  const attemptAt = (callId: string) => {
    const own = inputs.find(({ call }) => call.id === callId)
    return attemptOf(own ?? { run: first?.run ?? '', round: first?.round ?? '', attempt: 1 }, callId)
  }
  const options: ExecutionOptions = {
    get signal() {
      return end.signal
    },
    clock: clockOf(self),
    self,
    context: valuesOf(self).context,
    attemptAt,
    report: (callId, value) => send(progressReport(callId, value)),
    addUsage: used.add,
    onResult: (given) => {
      const call = open.get(given?.id)
      if (call) finish([taken(call, given)])
    },
  }
  const execute = () => {
    const tools = toolsOf(config, self)
    const replaced = inputs.filter((input) => isReplaced(input, tools)).map(({ call }) => call)
    finish(replaced.map(replacedResult))
    const calls = [...open.values()]
    const traced = { calls, tools, attemptAt, hide: config.hide }
    return tracerOf(self).calls(self, traced, () => executeBatch(calls, tools, options))
  }
  settled(
    execute,
    (results) => {
      if (!Array.isArray(results))
        return send({
          type: 'batch.failed',
          error: new TypeError('executeBatch did not return a list of results'),
        })
      const given = new Map(results.map((result) => [result?.id, result]))
      finish([...open.values()].map((call) => taken(call, given.get(call.id))))
    },
    (error) => send({ type: 'batch.failed', error }),
  )
  return () => {
    isStopped = true
    if (open.size > 0) end.abort()
  }
}
