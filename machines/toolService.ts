import { type ActorLogic, type AnyActorRef, type AnyActorScope, createActor, type Snapshot } from 'xstate'
import { ConfigurationError } from '../src/messages/errors.ts'
import { appended, countOf, type Runs } from '../src/messages/growing.ts'
import type { ToolCallPart, ToolResultPart } from '../src/messages/messages.ts'
import type { Usage } from '../src/messages/result.ts'
import { LazySignal } from '../src/tools/lazySignal.ts'
import type { ExecutionOptions } from '../src/tools/toolExecutor.ts'
import { asToolResult } from '../src/tools/toolResult.ts'
import type { ResolvedConfig, ToolExecution } from './agentConfig.ts'
import type { ChildEvent } from './events.ts'
import { toolsOf } from './runTools.ts'
import { valuesOf } from './runValues.ts'
import * as is from './shape.ts'
import { clockIn } from './systemTime.ts'
import { type CallOutput, callLogic, onStop, settled, UsageCount } from './toolCall.ts'

/** The calls of one turn. */
export type ToolServiceInput = { calls: ToolCallPart[] }

/** Their results, in call order; `usage`: what is not yet reported of what the tools used of models. */
export type ToolServiceOutput = { results: ToolResultPart[]; usage?: Usage }

/** Where the calls of a turn stand. JSON, so that it can be stored with the run. */
export type ToolServiceSnapshot = Snapshot<ToolServiceOutput> & {
  calls: ToolCallPart[]
  /** Ids of the calls that may have taken effect. */
  begun: Runs<string>
  results: Runs<ToolResultPart>
}

type ToolServiceEvent =
  | { type: `xstate.done.actor.call:${string}`; output: CallOutput }
  | { type: 'batch.result'; output: CallOutput }
  /** Calls begin in the place of one that has finished. */
  | { type: 'calls.begin'; calls: ToolCallPart[] }
  | { type: 'batch.finished'; results: ToolResultPart[]; usage?: Usage }
  | { type: 'batch.failed'; error: unknown }

type Progress = Pick<ToolServiceSnapshot, 'calls' | 'begun' | 'results'>

/**
 * The tool executor as a service: runs the calls of one turn and reports to the agent what starts and what ends. Each
 * call is an actor of its own that calls `executeSingle`; an `executeBatch` of the user's takes the whole turn. A call
 * that has its result never runs again, not even when the service is restored; one that was running then starts over.
 */
export const toolService = (
  config: ResolvedConfig,
): ActorLogic<ToolServiceSnapshot, ToolServiceEvent, ToolServiceInput> => {
  const atOnce = config.executeBatch ? Number.POSITIVE_INFINITY : concurrencyOf(config.toolExecution)
  const call = callLogic(config)
  /** What runs for a service, by its actor: how to stop it. */
  const running = new WeakMap<AnyActorRef, Set<() => void>>()

  const run = (calls: ToolCallPart[], scope: AnyActorScope): void => {
    const stops = running.get(scope.self)
    if (!stops || calls.length === 0) return
    if (config.executeBatch) stops.add(runBatch(config.executeBatch, calls, scope, config))
    else
      for (const each of calls) {
        const actor = createActor(call, { id: `call:${each.id}`, parent: scope.self, input: { call: each } })
        stops.add(() => scope.stopChild(actor))
        actor.start()
      }
  }

  return {
    getInitialSnapshot: (_, { calls }) => after({ calls, begun: [], results: [] }, atOnce),

    // Fresh or restored: whatever has begun and has no result runs.
    start: (snapshot, scope) => {
      const stops = new Set<() => void>()
      running.set(scope.self, stops)
      onStop(scope.self, () => {
        for (const stop of stops) stop()
      })
      const calls = unfinished(snapshot)
      if (calls.length > 0) tellAgent(scope, { type: 'tool.started', calls })
      run(calls, scope)
    },

    transition: (snapshot, event, scope) => {
      switch (event.type) {
        case 'batch.finished': {
          const given = new Map(event.results.map((result) => [result?.id, result]))
          const missing = unfinished(snapshot).map((each) => asToolResult(each, given.get(each.id)))
          return after({ ...snapshot, results: appended(snapshot.results, missing) }, atOnce, event.usage)
        }
        case 'calls.begin':
          scope.defer(() => run(event.calls, scope))
          return snapshot
        case 'batch.failed':
          return { ...snapshot, status: 'error', error: event.error, output: undefined }
        default: {
          // Any other event is none of ours.
          if (!('output' in event)) return snapshot
          const { result, usage } = event.output
          // A call ends once, but a batch of the user's may say so again.
          const isTold = () => snapshot.results.flat().some(({ id }) => id === result.id)
          if (event.type === 'batch.result' && isTold()) return snapshot
          const next = after({ ...snapshot, results: appended(snapshot.results, [result]) }, atOnce, usage)
          // The last result is told with the end. Others once this is committed: who stores the run when it hears of a
          // result finds it here, too.
          if (next.status === 'active')
            scope.defer(() => {
              const calls = next.calls.slice(countOf(snapshot.begun), countOf(next.begun))
              tellAgent(scope, { type: 'tool.finished', result, calls, ...(usage && { usage }) })
              // Whoever hears of the result may end the run: a stop comes before this, and then nothing begins.
              scope.self.send({ type: 'calls.begin', calls })
            })
          return next
        }
      }
    },

    getPersistedSnapshot: (snapshot) => snapshot,
    restoreSnapshot: (stored) => {
      const progress = checkedProgress(stored as ToolServiceSnapshot)
      return progress.status === 'active' ? after(progress, atOnce) : progress
    },
  }
}

const progressShape = is.fields({
  status: is.oneOf('active', 'done'),
  calls: is.listOf(is.part('toolCall')),
  begun: is.runsOf(is.text),
  results: is.runsOf(is.part('toolResult')),
})

/** Calls begin in their order, each once, and only those that have begun have a result. */
const checkedProgress = (stored: ToolServiceSnapshot): ToolServiceSnapshot => {
  const flaw = progressShape('', stored)
  if (flaw) throw new ConfigurationError(`The stored tool executor cannot go on: ${flaw}`)
  const { calls } = stored
  const [begun, results] = [stored.begun.flat(), stored.results.flat()]
  const isInOrder = begun.every((id, index) => calls[index]?.id === id)
  const hasBegun = new Set(begun)
  const answered = new Set(results.map(({ id }) => id))
  const isAnswered = results.every(({ id }) => hasBegun.has(id)) && answered.size === results.length
  const isDone = results.length === calls.length
  if (!isInOrder || !isAnswered || isDone !== (stored.status === 'done'))
    throw new ConfigurationError('The stored tool executor cannot go on: its calls and results do not fit.')
  return stored
}

const concurrencyOf = (execution: ToolExecution): number => {
  if (typeof execution === 'object') return execution.concurrency
  return execution === 'parallel' ? Number.POSITIVE_INFINITY : 1
}

/** As many calls begin as may run at once; when all have their results, the turn is over. */
const after = ({ calls, begun, results }: Progress, atOnce: number, usage?: Usage): ToolServiceSnapshot => {
  const first = countOf(begun)
  const done = countOf(results)
  const free = atOnce - (first - done)
  const begins = calls.slice(first, first + Math.max(0, free)).map(({ id }) => id)
  const progress = { calls, begun: appended(begun, begins), results }
  if (done < calls.length) return { ...progress, status: 'active', output: undefined, error: undefined }
  const byId = new Map(results.flat().map((result) => [result.id, result]))
  const ordered = calls.flatMap(({ id }) => byId.get(id) ?? [])
  return {
    ...progress,
    status: 'done',
    output: { results: ordered, ...(usage && { usage }) },
    error: undefined,
  }
}

/** Calls begin in their order, so those that have begun are the first ones. */
const unfinished = ({ calls, begun, results }: Progress): ToolCallPart[] => {
  const answered = new Set(results.flat().map(({ id }) => id))
  return calls.slice(0, countOf(begun)).filter(({ id }) => !answered.has(id))
}

const tellAgent = ({ self }: AnyActorScope, event: ChildEvent): void => self._parent?.send(event)

/** A batch of the user's own. Gives the function that stops it. */
const runBatch = (
  executeBatch: NonNullable<ResolvedConfig['executeBatch']>,
  calls: ToolCallPart[],
  { self, system }: AnyActorScope,
  config: ResolvedConfig,
): (() => void) => {
  const end = new LazySignal()
  const used = new UsageCount()
  const options: ExecutionOptions = {
    get signal() {
      return end.signal
    },
    clock: clockIn(system),
    self,
    context: valuesOf(self).context,
    addUsage: used.add,
    onResult: (given) => {
      const call = calls.find(({ id }) => id === given?.id)
      if (call)
        self.send({ type: 'batch.result', output: { result: asToolResult(call, given), ...used.take() } })
    },
  }
  settled(
    () => executeBatch(calls, toolsOf(config, self), options),
    (results) =>
      self.send(
        Array.isArray(results)
          ? { type: 'batch.finished', results, ...used.take() }
          : { type: 'batch.failed', error: new TypeError('executeBatch gave no list of results') },
      ),
    (error) => self.send({ type: 'batch.failed', error }),
  )
  return () => end.abort()
}
