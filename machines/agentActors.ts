import { type EventObject, fromCallback, fromPromise } from 'xstate'
import { ConfigurationError, type ErrorData, errorDataOf } from '../src/messages/errors.ts'
import { copyJson, isJsonObject, type JsonObject } from '../src/messages/json.ts'
import { type ChatMessage, systemMessage, type ToolResultPart } from '../src/messages/messages.ts'
import type { ModelRequest, ModelSink, ToolSpec } from '../src/model/chatModel.ts'
import { isThenable } from '../src/tools/isThenable.ts'
import { asToolResult } from '../src/tools/toolExecutor.ts'
import type { ResolvedConfig } from './agentConfig.ts'
import type { ChildEvent } from './events.ts'
import { withLightSteps } from './interpreter/lightSteps.ts'
import { stopOrphans } from './interpreter/stopOrphans.ts'
import { Patience } from './patience.ts'
import { createToolBatchMachine, type ToolBatchInput, type ToolBatchOutput } from './toolBatchMachine.ts'

export type ModelInput = {
  modelIndex: number
  messages: ChatMessage[]
  outputSchema: JsonObject | null
  deadlineAt: number | null
}

/**
 * One request to the model: reports its deltas, read by read, then `model.done` or `model.failed`. It keeps the time
 * itself, so that a read needs no new timer.
 */
export const modelActor = (config: ResolvedConfig) => {
  const { models, tools, system, settings, clock } = config
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
    const patience = new Patience(config, input.deadlineAt, fail)
    const sink: ModelSink = {
      deltas: (deltas) => {
        if (!Array.isArray(deltas)) return fail(new TypeError('The model gave no list of deltas.'))
        const at = clock.now()
        patience.heard(at)
        tell({ type: 'model.deltas', deltas, seq: seq++, at })
        const last = deltas.at(-1)
        if (last?.type === 'error') tell({ type: 'model.failed', error: last.error, at })
      },
      end: () => tell({ type: 'model.done', at: clock.now() }),
      fail,
    }
    try {
      const close = closing(model.stream(request, sink), fail)
      return () => {
        patience.end()
        close()
      }
    } catch (thrown) {
      patience.end()
      throw thrown
    }
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

/** A moment, not a span: it stays the same when a snapshot is restored later. Null is never. */
export type TimerInput = { at: number | null }

/**
 * A wait. It is a child and not an `after`, because XState starts the children of a restored snapshot again but
 * forgets its `after` timers.
 */
export const timerActor = ({ clock }: ResolvedConfig) =>
  fromCallback<EventObject, TimerInput>(({ input: { at }, sendBack }) => {
    if (at === null) return
    const fire = () => {
      const fired: ChildEvent = { type: 'timer.fired', at: clock.now() }
      sendBack(fired)
    }
    const id = clock.setTimeout(fire, Math.max(0, at - clock.now()))
    return () => clock.clearTimeout(id as never)
  })

/** The tool executor: the batch chart, or the user's own `executeBatch`. */
export const toolExecutorActor = (config: ResolvedConfig) => {
  const { tools, executeBatch } = config
  if (!executeBatch)
    return stopOrphans(withLightSteps(createToolBatchMachine(tools, config.toolExecution, config)))
  return fromPromise<ToolBatchOutput, ToolBatchInput>(async ({ input: { calls }, signal, self }) => {
    const tell = (event: ChildEvent) => self._parent?.send(event)
    tell({ type: 'tool.started', calls })
    const onResult = (given: ToolResultPart) => {
      const call = calls.find(({ id }) => id === given?.id)
      if (call) tell({ type: 'tool.finished', result: asToolResult(call, given) })
    }
    const results = await executeBatch(calls, tools, { signal, onResult })
    const given = (id: string) => results.find((result) => result?.id === id)
    return { results: calls.map((call) => asToolResult(call, given(call.id))) }
  })
}
