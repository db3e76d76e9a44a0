import { type AnyActorRef, type EventObject, fromCallback } from 'xstate'
import { ConfigurationError, describeThrown, OrchestrationError } from '../../src/messages/errors.ts'
import { systemMessage } from '../../src/messages/messages.ts'
import type { ChatModel, ModelRequest, ModelSink, ToolSpec } from '../../src/model/chatModel.ts'
import { longestTimeoutMs } from '../../src/model/clock.ts'
import { searchToolName } from '../../src/model/deferredTools.ts'
import type { Delta, PrefixDifference } from '../../src/model/delta.ts'
import { toolChangeOf } from '../../src/model/promptChange.ts'
import type { Tool } from '../../src/tools/tool.ts'
import type { ResolvedConfig } from '../agent/agentConfig.ts'
import type { ConfigSource } from '../agent/chartConfig.ts'
import type { ChildEvent, PreparedRequest } from '../agent/events.ts'
import { copyOf, type modelInput } from '../agent/streamingState.ts'
import { hostOf, valuesOf } from '../logic/runEnvironment.ts'
import { clockOf } from '../logic/systemTime.ts'
import { specsOf, toolsOf, unknownToolIn } from '../tools/runTools.ts'
import { type AtHand, appendOnly } from './appendedChanges.ts'
import { AnswerTimer, askModel, modelFailure } from './modelRequest.ts'
import {
  offeredNames,
  type PreparedStep,
  preparedStep,
  refuseServerTools,
  stepOfPolicy,
  withinPolicy,
} from './prepareStep.ts'
import { repeatsHistory, type SentPrefix, sentPrefix, withDifferences } from './requestPrefix.ts'

/** The input of the model: the request of an answer, as JSON. */
export type ModelInput = ReturnType<typeof modelInput>

/**
 * The actor of one request to the model: it reports the deltas, read by read, then `model.done` or `model.failed`,
 * and nothing more. It keeps the time itself, so that a read needs no new timer.
 */
export const modelActor = (configOf: ConfigSource['of']) =>
  fromCallback<EventObject, ModelInput>(({ input, sendBack, self }) => {
    const config = configOf(self)
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
      deltas: (given) => {
        if (!Array.isArray(given)) return fail(new TypeError('The model did not send a list of deltas.'))
        const at = clock.now()
        // The differences come with the first read.
        const read = sent ? withoutDifferences(given) : given
        const deltas = note ? [note, ...read] : read
        note = undefined
        if (sent) sent = withDifferences(sent, input.prefix, differencesIn(given))
        if (deltas.some(isContent)) timer.read(at)
        for (const part of deltas.length > mostDeltas ? partsOf(deltas) : [deltas]) {
          report({ type: 'model.deltas', deltas: part, seq: seq++, at, ...(sent && { sent }) })
          sent = undefined
        }
        const last = deltas.at(-1)
        if (last?.type === 'error') report({ type: 'model.failed', error: last.error, at })
      },
      end: () => report({ type: 'model.done', at: clock.now() }),
      fail,
    }
    const tools = toolsOf(config, self)
    const ask = (prepared: PreparedStep): (() => void) => {
      const { model, request: asked, atHand } = requestOf(config, input, tools, prepared)
      refuseServerTools(config.policy, asked, ofPolicy)
      const { prefix } = input
      const openingBefore = () => (prefix && repeatsHistory(asked, prefix) ? prefix.opening : undefined)
      const { request, opening } = model.profile?.appendsChanges
        ? appendOnly(asked, atHand, openingBefore())
        : { request: asked }
      sent = sentPrefix(model, request, prefix, opening)
      return askModel(config, self, { model, request, name: `${input.options.id}/turn ${input.step}` }, sink)
    }
    let note = limitNote(config, input, self)
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

/** The warning about a limit for a tool that the run does not have. It is an error where no such tool can come. */
const limitNote = (
  config: ResolvedConfig,
  { step, options: { limits } }: ModelInput,
  self: AnyActorRef,
): Delta | undefined => {
  const stranger = step === 1 ? unknownToolIn(Object.keys(limits.perTool ?? {}), config, self) : undefined
  const [model] = config.models
  if (!stranger || !model) return undefined
  const { name, advice, mayCome } = stranger
  const message = `limits.perTool has "${name.slice(0, 40)}", which is not a tool of this run. ${advice}`
  if (!mayCome) throw new ConfigurationError(message)
  const { provider, model: asked } = model
  return {
    type: 'warning',
    warning: { setting: 'limits', change: 'omitted', message, provider, model: asked },
  }
}

/** The most deltas of one event. The time that XState takes to emit what one event brings grows with its square. */
const mostDeltas = 1000

const partsOf = (deltas: readonly Delta[]): Delta[][] =>
  Array.from({ length: Math.ceil(deltas.length / mostDeltas) }, (_, part) =>
    deltas.slice(part * mostDeltas, (part + 1) * mostDeltas),
  )

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
    offered?.includes(name) && (!deferred || offered.includes(searchToolName))
  // The same list in each request, where nothing is left out: what is made of it is kept with it.
  const specs = isShapeOnly ? [] : offered === undefined ? known : known.filter(isOffered)
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
  const ofAgent = withSkills(systemOfAgent ?? '')
  return { model, request, atHand: { ofAgent, ofRun: withSkills(ofRun), tools: known } }
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

const differencesIn = (deltas: readonly Delta[]): PrefixDifference[] =>
  deltas.flatMap((delta) => (delta?.type === 'prefix' ? delta.differences : []))

/** The deltas of the answer: nothing after this actor compares requests. */
const withoutDifferences = (deltas: readonly Delta[]): readonly Delta[] =>
  deltas.some((delta) => delta?.type === 'prefix')
    ? deltas.filter((delta) => delta?.type !== 'prefix')
    : deltas

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
  const { timer: hosted, now, takeCommands } = hostOf(self)
  const clock = clockOf(self)
  let id: unknown
  const fire = () => {
    // A decision that was acknowledged before its call expires counts.
    takeCommands?.()
    const fired: ChildEvent = { type: 'timer.fired', at: Math.max(at, now?.() ?? clock.now()) }
    sendBack(fired)
  }
  const drop = self._parent && hosted?.(at, self._parent, fire)
  if (drop) return drop
  const wait = (ms: number) => {
    const isLast = ms <= longestTimeoutMs
    id = clock.setTimeout(() => (isLast ? fire() : wait(ms - longestTimeoutMs)), ms)
  }
  wait(Math.max(0, at - clock.now()))
  return () => clock.clearTimeout(id)
})
