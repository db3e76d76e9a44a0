import { type AnyActorRef, assign, type EventObject, enqueueActions, fromCallback, setup } from 'xstate'
import { describeThrown } from '../src/messages/errors.ts'
import type { ToolCallPart, ToolResultPart } from '../src/messages/messages.ts'
import { addUsage, type Usage } from '../src/messages/result.ts'
import { LazySignal } from '../src/tools/lazySignal.ts'
import type { Tool } from '../src/tools/tool.ts'
import { asToolResult, errorResult, type ToolExecutor } from '../src/tools/toolExecutor.ts'

/** How many calls of one turn may run at the same time. */
export type ToolExecution = 'sequential' | 'parallel' | { concurrency: number }

const concurrencyOf = (execution: ToolExecution): number =>
  execution === 'sequential' ? 1 : execution === 'parallel' ? Number.MAX_SAFE_INTEGER : execution.concurrency

/** The calls of one turn. */
export type ToolBatchInput = { calls: ToolCallPart[] }
/** Their results, in call order. */
export type ToolBatchOutput = { results: ToolResultPart[] }

type ToolBatchState = {
  waiting: ToolCallPart[]
  running: ToolCallPart[]
  results: ToolResultPart[]
  order: string[]
}

/** The child that runs one call: its id, as the inspector and a persisted snapshot show it. */
const callActorId = (callId: string): string => `call:${callId}`

/**
 * Runs the tool calls of one turn: `executeBatch` as a chart. Every call is a child of its own that runs
 * `executeSingle`, at most `concurrency` at once. A call that has its result never runs again, not even when the
 * batch is restored from a snapshot; one that was running then starts over.
 */
export const createToolBatchMachine = (
  tools: ReadonlyMap<string, Tool>,
  execution: ToolExecution,
  executor: Pick<ToolExecutor, 'executeSingle'>,
) => {
  const concurrency = concurrencyOf(execution)
  return setup({
    types: {
      context: {} as ToolBatchState,
      input: {} as ToolBatchInput,
      output: {} as ToolBatchOutput,
      events: {} as { type: 'call.finished'; result: ToolResultPart; usage?: Usage },
    },
    actors: { call: callActor(tools, executor) },
    guards: {
      canStart: ({ context }) => context.waiting.length > 0 && context.running.length < concurrency,
      isDone: ({ context }) => context.waiting.length === 0 && context.running.length === 0,
    },
    actions: {
      startCalls: enqueueActions(({ context: { waiting, running }, self, enqueue }) => {
        const starting = waiting.slice(0, concurrency - running.length)
        enqueue.assign({ waiting: waiting.slice(starting.length), running: [...running, ...starting] })
        for (const call of starting) {
          enqueue.spawnChild('call', { id: callActorId(call.id), input: { call } })
        }
        enqueue.sendTo(listenerOf(self), { type: 'tool.started', calls: starting })
      }),
      takeResult: enqueueActions(
        ({ context: { running, results }, event: { result, usage }, self, enqueue }) => {
          enqueue.assign({
            running: running.filter((call) => call.id !== result.id),
            results: [...results, result],
          })
          enqueue.stopChild(callActorId(result.id))
          enqueue.sendTo(listenerOf(self), { type: 'tool.finished', result, ...(usage && { usage }) })
        },
      ),
      sortResults: assign(({ context: { results, order } }) => ({
        results: results.toSorted((a, b) => order.indexOf(a.id) - order.indexOf(b.id)),
      })),
    },
  }).createMachine({
    id: 'toolBatch',
    context: ({ input: { calls } }) => ({
      waiting: calls,
      running: [],
      results: [],
      order: calls.map((call) => call.id),
    }),
    initial: 'Running',
    states: {
      Running: {
        always: [
          { guard: 'canStart', actions: 'startCalls' },
          { guard: 'isDone', target: 'Done', actions: 'sortResults' },
        ],
        on: { 'call.finished': { actions: 'takeResult' } },
      },
      Done: { type: 'final' },
    },
    output: ({ context: { results } }) => ({ results }),
  })
}

/** Who is told of progress: the parent. A batch that runs on its own tells itself, and ignores it. */
const listenerOf = (self: AnyActorRef): AnyActorRef => self._parent ?? self

const callActor = (
  tools: ReadonlyMap<string, Tool>,
  { executeSingle }: Pick<ToolExecutor, 'executeSingle'>,
) =>
  fromCallback<EventObject, { call: ToolCallPart }>(({ input: { call }, sendBack, self }) => {
    const end = new LazySignal()
    let used: Usage | undefined
    const options = {
      get signal() {
        return end.signal
      },
      onAbort: end.onAbort,
      self,
      addUsage: (usage: Usage) => {
        used = addUsage(used, usage)
      },
    }
    let isFinished = false
    const finish = (result: ToolResultPart) => {
      isFinished = true
      sendBack({ type: 'call.finished', result, ...(used && { usage: used }) })
    }
    // In a promise of its own: a custom executor may throw at once.
    new Promise<ToolResultPart>((resolve) => resolve(executeSingle(call, tools, options))).then(
      // A custom executor may forget whose result it is.
      (result) => finish(asToolResult(call, result)),
      (thrown) => finish(errorResult(call, describeThrown(thrown))),
    )
    return () => {
      // Nobody listens any more, and an abort is not cheap.
      if (!isFinished) end.abort()
    }
  })
