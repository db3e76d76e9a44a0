import { type EventObject, fromCallback, fromPromise } from 'xstate'
import type { ModelRequest, ToolSpec } from '../src/chatModel.ts'
import { ConfigurationError, type ErrorData, errorDataOf } from '../src/errors.ts'
import { isThenable } from '../src/isThenable.ts'
import { copyJson, isJsonObject, type JsonObject } from '../src/json.ts'
import { type ChatMessage, systemMessage, type ToolResultPart } from '../src/messages.ts'
import { asToolResult } from '../src/toolExecutor.ts'
import type { ResolvedConfig } from './agentConfig.ts'
import type { ChildEvent } from './events.ts'
import { stopOrphans } from './stopOrphans.ts'
import { createToolBatchMachine, type ToolBatchInput, type ToolBatchOutput } from './toolBatchMachine.ts'

export type ModelInput = { modelIndex: number; messages: ChatMessage[]; outputSchema: JsonObject | null }

/** One request to the model: reports its deltas, read by read, then `model.done` or `model.failed`. */
export const modelActor = ({ models, tools, system, settings, clock }: ResolvedConfig) => {
  const specs = [...tools.values()].map(
    ({ name, description, inputSchema }): ToolSpec => ({ name, description, inputSchema }),
  )
  const prelude = system === undefined ? [] : [systemMessage(system)]
  return fromCallback<EventObject, ModelInput>(({ input, sendBack }) => {
    const tell = (event: ChildEvent) => sendBack(event)
    // A model of the user's may fail with an error instead of its data.
    const fail = (error: unknown) =>
      tell({ type: 'model.failed', error: modelFailure(error), at: clock.now() })
    let seq = 0
    const request: ModelRequest = {
      ...settings,
      messages: [...prelude, ...input.messages],
      ...(specs.length > 0 && { tools: specs }),
      ...(input.outputSchema && { outputSchema: input.outputSchema }),
    }
    const model = models[input.modelIndex]
    if (!model) throw new ConfigurationError(`The agent has no model number ${input.modelIndex}.`)
    const close: unknown = model.stream(request, {
      deltas: (deltas) => {
        if (!Array.isArray(deltas)) return fail(new TypeError('The model gave no list of deltas.'))
        tell({ type: 'model.deltas', deltas, seq: seq++, at: clock.now() })
        const last = deltas.at(-1)
        if (last?.type === 'error') tell({ type: 'model.failed', error: last.error, at: clock.now() })
      },
      end: () => tell({ type: 'model.done', at: clock.now() }),
      fail,
    })
    return closing(close, fail)
  })
}

const modelFailure = (error: unknown): ErrorData => {
  try {
    if (isJsonObject(error) && !(error instanceof Error) && typeof error.message === 'string') {
      return copyJson(error) as ErrorData
    }
  } catch {
    // Full of traps, or no data: described like anything else.
  }
  return errorDataOf(error, 'ModelError')
}

/** What closes a request, from whatever a model of the user's returned: nothing, a promise, a function that throws. */
const closing = (returned: unknown, fail: (thrown: unknown) => void): (() => void) => {
  const close = (): void => {
    try {
      if (typeof returned === 'function') returned()
    } catch {
      // The request is over: how badly it was closed concerns nobody.
    }
  }
  if (!isThenable(returned)) return close
  const late = Promise.resolve(returned)
  late.catch(fail)
  return () => void late.then((found) => closing(found, () => {})()).catch(() => {})
}

/** `at` survives a restore as the moment it is, `ms` begins anew. Whichever comes first counts; none is for ever. */
export type TimerInput = { at: number | null; ms?: number }

/**
 * A wait. It is a child and not an `after`, because XState starts the children of a restored snapshot again but
 * forgets its `after` timers.
 */
export const timerActor = ({ clock }: ResolvedConfig) =>
  fromCallback<EventObject, TimerInput>(({ input: { at, ms }, sendBack }) => {
    const wait = Math.min(
      ms ?? Number.POSITIVE_INFINITY,
      at === null ? Number.POSITIVE_INFINITY : at - clock.now(),
    )
    if (wait === Number.POSITIVE_INFINITY) return
    const id = clock.setTimeout(
      () => {
        const fired: ChildEvent = { type: 'timer.fired', at: clock.now() }
        sendBack(fired)
      },
      Math.max(0, wait),
    )
    return () => clock.clearTimeout(id as never)
  })

/** The tool executor: the batch chart, or the user's own `executeBatch`. */
export const toolExecutorActor = (config: ResolvedConfig) => {
  const { tools, executeBatch } = config
  if (!executeBatch) return stopOrphans(createToolBatchMachine(tools, config.toolExecution, config))
  return fromPromise<ToolBatchOutput, ToolBatchInput>(async ({ input: { calls }, signal, self }) => {
    const tell = (event: ChildEvent) => self._parent?.send(event)
    for (const call of calls) tell({ type: 'tool.started', call })
    const onResult = (given: ToolResultPart) => {
      const call = calls.find(({ id }) => id === given?.id)
      if (call) tell({ type: 'tool.finished', result: asToolResult(call, given) })
    }
    const results = await executeBatch(calls, tools, { signal, onResult })
    const given = (id: string) => results.find((result) => result?.id === id)
    return { results: calls.map((call) => asToolResult(call, given(call.id))) }
  })
}
