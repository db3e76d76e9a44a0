import { type Attributes, type Context, context } from '@opentelemetry/api'
import type {
  AnyActor,
  AnyActorRef,
  AnyEventObject,
  AnyMachineSnapshot,
  InspectionEvent,
  Snapshot,
} from 'xstate'
import type { AgentSnapshot } from '../../machines/agent/agentSnapshot.ts'
import {
  addTracer,
  embeddingsTracer,
  type RunTracer,
  type TracedCalls,
  type TracedTurn,
  type TraceEmbeddings,
  valuesOf,
} from '../../machines/logic/runEnvironment.ts'
import { isRunMachine } from '../../machines/logic/wrapLogic.ts'
import { isRun } from '../../machines/tools/pendingCalls.ts'
import { errorDataOf } from '../messages/errors.ts'
import { isJsonObject } from '../messages/json.ts'
import {
  checkOptions,
  checkSome,
  flag,
  object,
  type Rule,
  type Rules,
  writtenAs,
} from '../messages/optionRules.ts'
import type { ModelSink } from '../model/chatModel.ts'
import { AgentTrace, failureOf } from './AgentTrace.ts'
import { CallTraces } from './CallTraces.ts'
import { attribute, own, providerName, usageNames } from './conventions.ts'
import { Meters, Operation } from './Operation.ts'
import { named, RunTrace } from './RunTrace.ts'
import { withModel } from './responseModel.ts'

/** Options of {@link telemetry}. None is required. */
export type TelemetryOptions = {
  /**
   * Records prompts, answers, arguments, results and the messages of errors, without credentials and up to 32,000
   * characters each. Default: `false`.
   */
  captureContent?: boolean
  /** Measures durations and tokens. Default: `true`. */
  metrics?: boolean
  /** Attributes of every span of a run, such as the session and the user. A function is called once for each run. */
  attributes?: Attributes | ((run: TracedRun) => Attributes)
}

const rules: Rules<TelemetryOptions> = {
  captureContent: flag,
  metrics: flag,
  attributes: (name, value) => (typeof value === 'function' ? undefined : object(name, value)),
}

const inSdk = writtenAs('it where your program sets up the SDK of OpenTelemetry')

/** Options of the SDK, which telemetry uses as it is; and an event, which comes where `telemetry` was not called. */
const ofTheSdk: Readonly<Record<string, Rule>> = {
  exporter: inSdk,
  serviceName: inSdk,
  tracer: inSdk,
  tracerProvider: inSdk,
  type: writtenAs('inspect: telemetry(), with its parentheses'),
}

/**
 * Shows runs to OpenTelemetry, as an inspector: a span for each run, request and call of a tool, and measurements. It
 * uses the SDK that your program has set up; without one, nothing happens.
 *
 * @example
 * const agent = new Agent('openai:gpt-6-luna', { name: 'weather', inspect: telemetry() })
 *
 * @example
 * // Beside another inspector, and with the session of each run.
 * const agent = new Agent('openai:gpt-6-luna', {
 *   inspect: [inspector.inspect, telemetry({ attributes: ({ id }) => ({ 'session.id': id }) })],
 * })
 */
export const telemetry = (options: TelemetryOptions = {}): ((event: InspectionEvent) => void) => {
  checkSome('The options of telemetry', options, ofTheSdk)
  checkOptions('The options of telemetry', options, rules)
  const { captureContent = false, metrics = true, attributes = {} } = options
  const attributesOf = typeof attributes === 'function' ? attributes : () => attributes
  const meters = metrics ? new Meters() : undefined
  const { inspect } = new Tracing({ captureContent, attributesOf, meters })
  return Object.assign(inspect, { [embeddingsTracer]: embeddingsTrace(meters) })
}

/** A run that starts, or continues from where it was stored. */
export type TracedRun = {
  /** The id of the run, if it has one. */
  id: string | undefined
  /** The name of the agent, if it has one. */
  agent: string | undefined
  /** The `context` of the run's `SendOptions`. */
  context: unknown
  /** The id of the chat that the run is a turn of, in a handler or a store. Its spans have it as their session. */
  conversation: string | undefined
}

/** Traces requests for vectors. No run makes them, so they have none of its attributes. */
const embeddingsTrace =
  (meters: Meters | undefined): TraceEmbeddings =>
  async ({ provider, model, texts }, embed) => {
    const operation = unlessBroken(
      () =>
        new Operation({
          operation: 'embeddings',
          of: model,
          attributes: { [own.texts]: texts },
          measured: { [attribute.provider]: providerName(provider), [attribute.model]: model },
          meters,
        }),
    )
    if (!operation) return embed()
    try {
      const made = await context.with(operation.context, embed)
      const { usage = {} } = made
      operation.describe(named(usageNames, usage))
      meters?.tokens(usage, operation.measured)
      operation.end()
      return made
    } catch (error) {
      operation.end(failureOf(errorDataOf(error), undefined))
      throw error
    }
  }

type TracingOptions = {
  captureContent: boolean
  meters: Meters | undefined
  attributesOf: (run: TracedRun) => Attributes
}

/**
 * Makes traces of the runs of a system. Inspection events report the actors that start, the steps of their charts and the
 * results of calls. Requests and tools pass through `turn` and `calls`, so that they run in the context of their span.
 */
class Tracing implements RunTracer {
  readonly #options: TracingOptions
  /** Traces by their actors: those of whole runs, of lifecycle charts, and of calls. */
  readonly #agents = new WeakMap<AnyActorRef, AgentTrace>()
  readonly #runs = new WeakMap<AnyActorRef, RunTrace>()
  readonly #calls = new WeakMap<AnyActorRef, CallTraces>()
  readonly #checked = new WeakSet<AnyActorRef>()

  constructor(options: TracingOptions) {
    this.#options = options
  }

  readonly inspect = (event: InspectionEvent): void => {
    unlessBroken(() => this.#onInspection(event, event.actorRef as AnyActor))
  }

  turn(actor: AnyActorRef, turn: TracedTurn, ask: (sink: ModelSink) => unknown, sink: ModelSink): unknown {
    const run = actor._parent && this.#runs.get(actor._parent)
    const chat = run && unlessBroken(() => run.ask(turn))
    if (!chat) return ask(sink)
    // A reused socket calls back in the context in which it was opened, which may be that of another run. The callback may
    // also reach a chart that has nothing to do with this request, and continues after the run has ended.
    const { outside } = run.agent.operation
    const bound: ModelSink = {
      deltas: context.bind(outside, (deltas) => sink.deltas(deltas)),
      end: context.bind(outside, () => sink.end()),
      fail: context.bind(outside, (error) => sink.fail(error)),
      wire: withModel(sink.wire, (model) => unlessBroken(() => run.answeredBy(model))),
    }
    return context.with(chat.context, () => ask(bound))
  }

  calls<T>(actor: AnyActorRef, traced: TracedCalls, execute: () => T): T {
    const within = unlessBroken(() => this.#beginCalls(actor, traced))
    return within ? context.with(within, execute) : execute()
  }

  #onInspection(event: InspectionEvent, actor: AnyActor): void {
    if (event.type === '@xstate.actor') addTracer(actor.system, this)
    else if (event.type === '@xstate.event') this.#onEvent(actor, event.event)
    else if (event.type === '@xstate.microstep') this.#follow(actor, event.snapshot)
    else if (event.type === '@xstate.snapshot' && event.event.type !== 'model.deltas') {
      this.#follow(actor, event.snapshot)
      if (event.event.type === 'xstate.stop') this.#stop(actor, event.snapshot)
    }
  }

  #beginCalls(actor: AnyActorRef, traced: TracedCalls): Context | undefined {
    const run = nearest(actor, this.#runs)
    if (!run) return undefined
    const calls = new CallTraces(run.agent, traced, run.attributes)
    this.#calls.set(actor, calls)
    return (calls.only ?? run.agent.operation).context
  }

  #onEvent(actor: AnyActor, event: AnyEventObject): void {
    // The end of a call is known here before the run continues.
    if (event.type === 'xstate.init') this.#begin(actor, event)
    else if (event.type === 'call.settled' || event.type === 'batch.result')
      this.#calls.get(actor)?.settle([event.output.result])
    else if (event.type === 'batch.finished' || event.type === 'batch.failed')
      this.#calls.get(actor)?.settleAll(event.results)
    else if (event.type === 'policy.verdict') this.#runs.get(actor)?.judge(event.verdicts)
    this.#checkForError(actor)
  }

  #begin(actor: AnyActor, { input }: AnyEventObject): void {
    if (!isRunMachine(actor.logic)) return
    const { context: data }: { context?: unknown } = actor.getSnapshot()
    const whole = this.#wholeOf(actor)
    const agent = whole ?? this.#beginAgent(actor, idIn(data) ?? idIn({ input }))
    if (!whole) this.#agents.set(actor, agent)
    if (isRun(data)) this.#runs.set(actor, new RunTrace(agent, actor, whole && phaseOf(actor)))
  }

  #beginAgent(actor: AnyActor, runId: string | undefined): AgentTrace {
    const { captureContent, meters, attributesOf } = this.#options
    // Without its own name, an actor has the id that XState gave it.
    const name = actor.id === actor.sessionId ? undefined : actor.id
    const { context: given, conversation } = valuesOf(actor)
    const traced = { id: runId, agent: name, context: given, conversation }
    const attributes = { ...sessionOf(conversation), ...unlessBroken(() => attributesOf(traced)) }
    return new AgentTrace({ name, runId, above: this.#above(actor), attributes, captureContent, meters })
  }

  /** The run that a chart is a part of. A run that a call starts is a separate one. */
  #wholeOf(actor: AnyActorRef): AgentTrace | undefined {
    for (let each = actor._parent; each && !this.#calls.has(each); each = each._parent) {
      const agent = this.#agents.get(each)
      if (agent) return agent
    }
    return undefined
  }

  /** The operation that the actor of a run works for. */
  #above(actor: AnyActorRef): Operation | undefined {
    for (let each = actor._parent; each; each = each._parent) {
      const operation = this.#calls.get(each)?.only ?? this.#agents.get(each)?.operation
      if (operation) return operation
    }
    return undefined
  }

  #follow(actor: AnyActor, snapshot: Snapshot<unknown>): void {
    this.#runs.get(actor)?.follow(snapshot as AgentSnapshot)
    if (snapshot.status !== 'active') this.#agents.get(actor)?.end(snapshot as AnyMachineSnapshot)
  }

  #stop(actor: AnyActor, snapshot: Snapshot<unknown>): void {
    this.#calls.get(actor)?.end()
    // Logic that is not a chart may not report its end.
    this.#agents.get(actor)?.end(snapshot as AnyMachineSnapshot)
  }

  /** Looks at an actor once it has handled its event, because XState does not report actors that break. */
  #checkForError(actor: AnyActor): void {
    const agent = this.#agents.get(actor)
    if (!agent || this.#checked.has(actor)) return
    this.#checked.add(actor)
    queueMicrotask(() => {
      this.#checked.delete(actor)
      const snapshot = actor.getSnapshot()
      if (snapshot.status === 'error') unlessBroken(() => agent.end(snapshot))
    })
  }
}

const sessionOf = (conversation: string | undefined): Attributes =>
  conversation === undefined
    ? {}
    : { [attribute.conversation]: conversation, [attribute.session]: conversation }

/** Ignores errors: an observer must not break the run that it observes. */
const unlessBroken = <T>(observe: () => T): T | undefined => {
  try {
    return observe()
  } catch {
    return undefined
  }
}

const nearest = <T>(actor: AnyActorRef, known: WeakMap<AnyActorRef, T>): T | undefined =>
  known.get(actor) ?? (actor._parent && nearest(actor._parent, known))

/** The id of a run, from the data of our charts or from the input that starts it. */
const idIn = (data: unknown): string | undefined => {
  if (isRun(data)) return data.options.id
  const input = isJsonObject(data) ? data.input : undefined
  return isJsonObject(input) && typeof input.id === 'string' ? input.id : undefined
}

/** The name of a phase in the chart that invokes it. */
const phaseOf = ({ src, id }: AnyActor): string => (typeof src === 'string' ? src : id)
