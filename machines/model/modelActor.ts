import { type EventObject, fromCallback } from 'xstate'
import { ConfigurationError, describeThrown, OrchestrationError } from '../../src/messages/errors.ts'
import { systemMessage } from '../../src/messages/messages.ts'
import type { ChatModel, ModelRequest, ModelSink } from '../../src/model/chatModel.ts'
import { longestTimeoutMs } from '../../src/model/clock.ts'
import type { Delta } from '../../src/model/delta.ts'
import type { Tool } from '../../src/tools/tool.ts'
import type { ResolvedConfig } from '../agent/agentConfig.ts'
import type { ChildEvent, PreparedRequest } from '../agent/events.ts'
import { copyOf, type modelInput } from '../agent/streamingState.ts'
import { valuesOf } from '../logic/runEnvironment.ts'
import { clockOf } from '../logic/systemTime.ts'
import { specsOf, toolsOf } from '../tools/runTools.ts'
import { AnswerTimer, askModel, modelFailure } from './modelRequest.ts'
import { offeredNames, type PreparedStep, preparedStep } from './prepareStep.ts'
import { type SentPrefix, sentPrefix } from './requestPrefix.ts'

export type ModelInput = ReturnType<typeof modelInput>

/**
 * The actor of one request to the model: it reports the deltas, read by read, then `model.done` or `model.failed`,
 * and nothing more. It keeps the time itself, so that a read needs no new timer.
 */
export const modelActor = (config: ResolvedConfig) =>
  fromCallback<EventObject, ModelInput>(({ input, sendBack, self }) => {
    const clock = clockOf(self)
    let seq = 0
    let isOver = false
    let sent: SentPrefix | undefined
    const report = (event: ChildEvent) => {
      if (isOver) return
      isOver = event.type === 'model.done' || event.type === 'model.failed'
      if (isOver) timer.stop()
      sendBack(event)
    }
    // A user's model may fail with an Error instead of its data.
    const fail = (error: unknown) =>
      report({ type: 'model.failed', error: modelFailure(error), at: clock.now() })
    const sink: ModelSink = {
      deltas: (deltas) => {
        if (!Array.isArray(deltas)) return fail(new TypeError('The model did not send a list of deltas.'))
        const at = clock.now()
        if (deltas.some(isContent)) timer.read(at)
        report({ type: 'model.deltas', deltas, seq: seq++, at, ...(sent && { sent }) })
        sent = undefined
        const last = deltas.at(-1)
        if (last?.type === 'error') report({ type: 'model.failed', error: last.error, at })
      },
      end: () => report({ type: 'model.done', at: clock.now() }),
      fail,
    }
    const tools = toolsOf(config, self)
    const ask = (prepared: PreparedStep): (() => void) => {
      const asked = requestOf(config, input, tools, prepared)
      sent = sentPrefix(asked.model, asked.request, input.prefix)
      return askModel(config, self, { ...asked, name: `${input.options.id}/turn ${input.step}` }, sink)
    }
    const timer = new AnswerTimer(config, clock, input.deadlineAt, fail)
    let close = () => {}
    const { context, prepareStep = config.prepareStep } = valuesOf(self)
    try {
      if (!prepareStep || !self._parent) close = ask({})
      else {
        const { step, usage } = input
        const info = { step, messages: copyOf(input.messages), usage: usage ?? undefined, context }
        // A phase that has none of the agent's tools, such as a critic, offers none of those that are named.
        const known = config.takesTools ? new Set(tools.keys()) : undefined
        preparedStep(self._parent, prepareStep, info, known)
          .then((prepared) => {
            if (isOver) return
            report({ type: 'model.prepared', prepared: preparedRequest(config, input, tools, prepared) })
            close = ask(prepared)
          })
          .catch((thrown) =>
            fail(new OrchestrationError(`prepareStep failed: ${describeThrown(thrown)}`, { cause: thrown })),
          )
      }
    } catch (thrown) {
      timer.stop()
      throw thrown
    }
    return () => {
      isOver = true
      timer.stop()
      close()
    }
  })

/** The tools that are offered: those that are named, and the one that gives a typed answer, which has no schema of its own. */
const offeredTools = (prepared: PreparedStep, tools: ReadonlyMap<string, Tool>): string[] | undefined => {
  const answers = [...tools.values()].filter(({ inputSchema }) => inputSchema === null)
  return offeredNames(prepared)?.concat(answers.map(({ name }) => name))
}

/** The request, and the model that is asked. */
const requestOf = (
  { models, system: systemOfAgent, settings, callsTools }: ResolvedConfig,
  { messages, options, modelIndex, isLast }: ModelInput,
  tools: ReadonlyMap<string, Tool>,
  prepared: PreparedStep,
): { model: ChatModel; request: ModelRequest } => {
  const model = (modelIndex === 0 && prepared.model) || models[modelIndex]
  if (!model) throw new ConfigurationError(`The agent has no model number ${modelIndex}.`)
  const system = prepared.system ?? options.system ?? systemOfAgent
  const { outputSchema } = options
  const offered = offeredTools(prepared, tools)
  // Some models take the shape of an answer or tools, not both.
  const isShapeOnly = !callsTools && outputSchema !== null && !model.profile.schemaWithTools
  const specs = isShapeOnly ? [] : specsOf(tools).filter(({ name }) => offered?.includes(name) ?? true)
  const answerTool = outputSchema && specs.find(({ name }) => tools.get(name)?.inputSchema === null)
  const request: ModelRequest = {
    ...settings,
    ...options.settings,
    ...prepared.settings,
    ...(prepared.toolChoice !== undefined && { toolChoice: prepared.toolChoice }),
    // The tools stay: without them the provider's cache would be of no use, and some refuse the calls in the history.
    ...((isLast || !callsTools) && specs.length > 0 && { toolChoice: 'none' as const }),
    messages: system === undefined ? messages : [systemMessage(system), ...messages],
    ...(specs.length > 0 && {
      tools: answerTool
        ? specs.map((spec) => (spec === answerTool ? { ...spec, inputSchema: outputSchema } : spec))
        : specs,
    }),
    ...(outputSchema && !answerTool && { outputSchema }),
  }
  return { model, request }
}

const preparedRequest = (
  { models }: ResolvedConfig,
  { modelIndex }: ModelInput,
  tools: ReadonlyMap<string, Tool>,
  prepared: PreparedStep,
): PreparedRequest => {
  const asked: Partial<ChatModel> = (modelIndex === 0 && prepared.model) || (models[modelIndex] ?? {})
  const { provider = '', model = '', protocol, profile } = asked
  return {
    provider,
    model,
    ...(protocol !== undefined && { protocol }),
    ...(profile?.prices && { prices: profile.prices }),
    tools: offeredTools(prepared, tools) ?? null,
  }
}

/** Keep-alives, counts and names may come for ever from a server that has nothing to say. */
const isContent = (delta: Delta | undefined): boolean =>
  delta?.type !== 'usage' && delta?.type !== 'response' && delta?.type !== 'warning'

/** A moment, not a span: it stays the same when a snapshot is restored later. Null is never. */
export type TimerInput = { at: number | null }

/**
 * A wait. It is a child and not an `after`, because XState starts the children of a restored snapshot again but
 * forgets its `after` timers.
 */
export const timer = fromCallback<EventObject, TimerInput>(({ input: { at }, sendBack, self }) => {
  if (at === null) return
  const clock = clockOf(self)
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
