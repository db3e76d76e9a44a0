import { type EventObject, fromCallback } from 'xstate'
import { ConfigurationError, type ErrorData, errorDataOf } from '../src/messages/errors.ts'
import { copyJson, isJsonObject, type JsonObject } from '../src/messages/json.ts'
import { type ChatMessage, systemMessage } from '../src/messages/messages.ts'
import type { ModelRequest, ModelSink, ToolSpec } from '../src/model/chatModel.ts'
import { longestTimeoutMs } from '../src/model/clock.ts'
import type { Delta } from '../src/model/delta.ts'
import { isThenable } from '../src/tools/isThenable.ts'
import { AnswerTimer } from './AnswerTimer.ts'
import type { ResolvedConfig } from './agentConfig.ts'
import type { ChildEvent } from './events.ts'
import { clockIn } from './systemTime.ts'

export type ModelInput = {
  modelIndex: number
  messages: ChatMessage[]
  outputSchema: JsonObject | null
  deadlineAt: number | null
}

/**
 * One request to the model: reports its deltas, read by read, then `model.done` or `model.failed`, and nothing more. It
 * keeps the time itself, so that a read needs no new timer.
 */
export const modelActor = (config: ResolvedConfig) => {
  const { models, tools, system: systemPrompt, settings } = config
  const specs = [...tools.values()].map(
    ({ name, description, inputSchema }): ToolSpec => ({ name, description, inputSchema: inputSchema ?? {} }),
  )
  const answerTool = [...tools.values()].find(({ inputSchema }) => inputSchema === null)?.name
  const specsFor = (outputSchema: JsonObject | null): ToolSpec[] =>
    outputSchema && answerTool !== undefined
      ? specs.map((spec) => (spec.name === answerTool ? { ...spec, inputSchema: outputSchema } : spec))
      : specs
  const prelude = systemPrompt === undefined ? [] : [systemMessage(systemPrompt)]
  return fromCallback<EventObject, ModelInput>(({ input, sendBack, system }) => {
    const clock = clockIn(system)
    let seq = 0
    let isOver = false
    const tell = (event: ChildEvent) => {
      if (isOver) return
      isOver = event.type !== 'model.deltas'
      if (isOver) timer.stop()
      sendBack(event)
    }
    // A model of the user's may fail with an error instead of its data.
    const fail = (error: unknown) =>
      tell({ type: 'model.failed', error: modelFailure(error), at: clock.now() })
    const request: ModelRequest = {
      ...settings,
      messages: [...prelude, ...input.messages],
      ...(specs.length > 0 && { tools: specsFor(input.outputSchema) }),
      ...(input.outputSchema && answerTool === undefined && { outputSchema: input.outputSchema }),
    }
    const model = models[input.modelIndex]
    if (!model) throw new ConfigurationError(`The agent has no model number ${input.modelIndex}.`)
    const timer = new AnswerTimer(config, clock, input.deadlineAt, fail)
    const sink: ModelSink = {
      deltas: (deltas) => {
        if (!Array.isArray(deltas)) return fail(new TypeError('The model gave no list of deltas.'))
        const at = clock.now()
        if (deltas.some(isContent)) timer.read(at)
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
        timer.stop()
        close()
      }
    } catch (thrown) {
      timer.stop()
      throw thrown
    }
  })
}

/** Keep-alives, counts and names may come for ever from a server that has nothing to say. */
const isContent = (delta: Delta | undefined): boolean => delta?.type !== 'usage' && delta?.type !== 'response'

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
export const timer = fromCallback<EventObject, TimerInput>(({ input: { at }, sendBack, system }) => {
  if (at === null) return
  const clock = clockIn(system)
  let id: unknown
  const fire = () => {
    const fired: ChildEvent = { type: 'timer.fired', at: Math.max(at, clock.now()) }
    sendBack(fired)
  }
  const wait = (ms: number) => {
    const isLast = ms <= longestTimeoutMs
    id = clock.setTimeout(() => (isLast ? fire() : wait(ms - longestTimeoutMs)), ms)
  }
  wait(Math.max(0, at - clock.now()))
  return () => clock.clearTimeout(id)
})
