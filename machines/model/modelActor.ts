import { type EventObject, fromCallback } from 'xstate'
import { ConfigurationError, describeThrown, OrchestrationError } from '../../src/messages/errors.ts'
import { systemMessage } from '../../src/messages/messages.ts'
import type { ChatModel, ModelRequest, ModelSink, ToolSpec } from '../../src/model/chatModel.ts'
import { longestTimeoutMs } from '../../src/model/clock.ts'
import { searchToolName } from '../../src/model/deferredTools.ts'
import type { Delta } from '../../src/model/delta.ts'
import { toolChangeOf } from '../../src/model/promptChange.ts'
import type { Tool } from '../../src/tools/tool.ts'
import type { ResolvedConfig } from '../agent/agentConfig.ts'
import type { ChildEvent, PreparedRequest } from '../agent/events.ts'
import { copyOf, type modelInput } from '../agent/streamingState.ts'
import { valuesOf } from '../logic/runEnvironment.ts'
import { clockOf } from '../logic/systemTime.ts'
import { specsOf, toolsOf } from '../tools/runTools.ts'
import { type AtHand, appendOnly } from './appendedChanges.ts'
import { AnswerTimer, askModel, modelFailure } from './modelRequest.ts'
import { offeredNames, type PreparedStep, preparedStep, stepOfPolicy, withinPolicy } from './prepareStep.ts'
import { repeatsHistory, type SentPrefix, sentPrefix } from './requestPrefix.ts'

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
      const { model, request: asked, atHand } = requestOf(config, input, tools, prepared)
      const { prefix } = input
      const before = prefix && repeatsHistory(asked, prefix) ? prefix.opening : undefined
      const { request, opening } = model.profile?.appendsChanges
        ? appendOnly(asked, atHand, before)
        : { request: asked }
      sent = sentPrefix(model, request, prefix, opening)
      return askModel(config, self, { model, request, name: `${input.options.id}/turn ${input.step}` }, sink)
    }
    const timer = new AnswerTimer(config, clock, input.deadlineAt, fail)
    let close = () => {}
    const { context, prepareStep = config.prepareStep } = valuesOf(self)
    const ofPolicy = stepOfPolicy(config.policy, self._parent, tools)
    try {
      if (!prepareStep || !self._parent) {
        if (ofPolicy) {
          report({ type: 'model.prepared', prepared: preparedRequest(config, input, tools, ofPolicy) })
        }
        close = ask(ofPolicy ?? {})
      } else {
        const { step, usage } = input
        const info = { step, messages: copyOf(input.messages), usage: usage ?? undefined, context }
        // A phase that has none of the agent's tools, such as a critic, offers none of those that are named.
        const known = config.takesTools ? new Set(tools.keys()) : undefined
        preparedStep(self._parent, prepareStep, info, known)
          .then((given) => {
            if (isOver) return
            const prepared = ofPolicy ? withinPolicy(ofPolicy, given) : given
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
  { models, system: systemOfAgent, skillList, settings, callsTools }: ResolvedConfig,
  { messages, options, modelIndex, isLast }: ModelInput,
  tools: ReadonlyMap<string, Tool>,
  prepared: PreparedStep,
): { model: ChatModel; request: ModelRequest; atHand: AtHand } => {
  const model = (modelIndex === 0 && prepared.model) || models[modelIndex]
  if (!model) throw new ConfigurationError(`The agent has no model number ${modelIndex}.`)
  const ofRun = options.system ?? systemOfAgent ?? ''
  const withSkills = (prompt: string) => [prompt, skillList].filter((text) => text !== '').join('\n\n')
  const system = withSkills(prepared.system ?? ofRun)
  const { outputSchema } = options
  const said = messages.some(toolChangeOf) ? messages.filter((each) => !toolChangeOf(each)) : messages
  const offered = offeredTools(prepared, tools)
  // Some models take the shape of an answer or tools, not both.
  const isShapeOnly = !callsTools && outputSchema !== null && !model.profile.schemaWithTools
  const known = specsOf(tools, model.profile?.deferredTools === true)
  const isOffered = ({ name, deferred }: ToolSpec) =>
    offered === undefined || (offered.includes(name) && (!deferred || offered.includes(searchToolName)))
  const specs = isShapeOnly ? [] : known.filter(isOffered)
  const answerTool = outputSchema && specs.find(({ name }) => tools.get(name)?.inputSchema === null)
  const request: ModelRequest = {
    ...settings,
    ...options.settings,
    ...prepared.settings,
    ...(prepared.toolChoice !== undefined && { toolChoice: prepared.toolChoice }),
    // The tools stay: without them the provider's cache would be of no use, and some refuse the calls in the history.
    ...((isLast || !callsTools) && specs.length > 0 && { toolChoice: 'none' as const }),
    messages: system === '' ? said : [systemMessage(system), ...said],
    ...(specs.length > 0 && {
      tools: answerTool
        ? specs.map((spec) => (spec === answerTool ? { ...spec, inputSchema: outputSchema } : spec))
        : specs,
    }),
    ...(outputSchema && !answerTool && { outputSchema }),
  }
  return { model, request, atHand: { system: withSkills(ofRun), tools: known } }
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
