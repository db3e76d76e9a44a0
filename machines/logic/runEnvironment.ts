import type { AnyActorRef } from 'xstate'
import type { ToolCallPart, ToolResultPart } from '../../src/messages/messages.ts'
import type { Usage } from '../../src/messages/result.ts'
import type { ChatModel, ModelRequest, ModelSink } from '../../src/model/chatModel.ts'
import type { AnyToolEntry, Tool } from '../../src/tools/tool.ts'
import type { Attempt } from '../../src/tools/toolExecutor.ts'
import type { WireSchema } from '../../src/tools/typedAnswer.ts'
import type { PrepareStep } from '../model/prepareStep.ts'
import { type AnyRunMachine, type RunParts, registerRunMachine, wrappersOf } from './wrapLogic.ts'

// The environment of a run: all that it needs and that is not data. Nothing of it is stored.

/** The values that the caller gives to a run; a restored run is given them again. */
export type RunValues = {
  /** The schema that the answer must fit. */
  answerSchema?: WireSchema
  /** The value that the run's tools get as their context. */
  context?: unknown
  /** The id of the chat that the run is a turn of, for tracers. */
  conversation?: string
  /** The tools of the run, in place of the agent's. */
  tools?: readonly AnyToolEntry[]
  prepareStep?: PrepareStep
}

/**
 * The host of a run: a store that writes each of its steps, or an engine that replays it from records. It serves every
 * machine of the run, also those of sub-agents.
 */
export type RunHost = {
  /**
   * Called as the first effect of a step of any machine of the run: before its children start, and before any listener
   * gets it. If it throws, the step has no effect, and the run stops at the last stored step. Reads of a running answer
   * do not count as steps.
   */
  writeAhead?(): void
  /** Time between the last stored step of a restored run and its restart: it does not count as time of the run. */
  stoppedMs?: number
  /** Says whether the run is about to be stopped: calls that run may end, and no other one starts. */
  isStopping?(): boolean
  /**
   * Ids that a run makes, by its own id: an engine that replays it needs the same ones, even if other runs run beside
   * it.
   */
  newId?(run: string): string
  /** Makes one request to a model: `ask` sends it. Its name says which run asks, and for which step. Returns what closes it, as the model does. */
  turn?(name: string, ask: (sink: ModelSink) => unknown, sink: ModelSink): unknown
  /** Makes one attempt at a call of a tool, by its idempotency key: `execute` runs it. */
  call?(key: string, execute: () => Promise<ToolResultPart>, tool: Tool | undefined): Promise<ToolResultPart>
}

type Environment = { values?: RunValues; host?: RunHost }

/** Environments, by the machine that was made for one run. */
const environments = new WeakMap<object, Environment>()

/** Returns the machine for one run with these values: one machine serves all runs, with any values. */
export const withValues = <M extends AnyRunMachine>(machine: M, values: RunValues): M =>
  machineWithin(machine, { values })

/** Returns the machine for one run with a host. */
export const withHost = <M extends AnyRunMachine>(machine: M, host: RunHost): M =>
  machineWithin(machine, { host })

/** A copy with the same logic: by its identity, actors find their environment from their first moment on. */
const machineWithin = <M extends AnyRunMachine>(machine: M, environment: Environment): M => {
  const copy = {
    ...machine,
    provide: (parts: RunParts) => machineWithin(machine.provide(parts), environment),
  }
  environments.set(copy, { ...environments.get(machine), ...environment })
  return registerRunMachine(copy, wrappersOf(machine))
}

const environmentOf = (actor: AnyActorRef): Environment | undefined =>
  'logic' in actor && typeof actor.logic === 'object' && actor.logic !== null
    ? environments.get(actor.logic)
    : undefined

/** The values of the run that an actor belongs to: those of the nearest actor above it that was given any. */
export const valuesOf = (actor: AnyActorRef | undefined): RunValues =>
  actor ? (environmentOf(actor)?.values ?? valuesOf(actor._parent)) : {}

const noHost: RunHost = {}

/** The host of the run that an actor belongs to. */
export const hostOf = (actor: AnyActorRef | undefined): RunHost =>
  actor ? (environmentOf(actor)?.host ?? hostOf(actor._parent)) : noHost

/** A request that is about to be sent. */
export type TracedTurn = {
  /** The name of the agent, if it has one. */
  agent: string | undefined
  model: ChatModel
  request: ModelRequest
  /** Takes the credentials of the agent's models out of a text. */
  hide: (text: string) => string
}

/** Calls that are about to run. */
export type TracedCalls = {
  calls: readonly ToolCallPart[]
  tools: ReadonlyMap<string, Tool>
  attemptAt: (callId: string) => Attempt
  hide: (text: string) => string
}

/**
 * A tracer of runs. Inspection shows what happens inside them; requests and tool calls go through here, because only
 * their caller can set the context in which they run.
 */
export type RunTracer = {
  /** A request to a model, made by this actor: `ask` sends it. */
  turn(actor: AnyActorRef, turn: TracedTurn, ask: (sink: ModelSink) => unknown, sink: ModelSink): unknown
  /** Runs a call, or a user's batch, made by this actor: `execute` runs it. */
  calls<T>(actor: AnyActorRef, calls: TracedCalls, execute: () => T): T
}

type System = AnyActorRef['system']
type Tracers = WeakMap<System, RunTracer[]>

/** The key of a registry for all copies of this module: an agent may be part of a bundle, or CommonJS, and its tracer not. */
const registry = Symbol.for('statewire.tracers.1')
const tracersOf = (): Tracers => {
  const shared = globalThis as { [registry]?: Tracers }
  shared[registry] ??= new WeakMap()
  return shared[registry]
}

/** Lets a tracer trace the runs of a system from now on, within the tracers that did before. Once is enough. */
export const addTracer = (system: System, tracer: RunTracer): void => {
  const tracers = tracersOf()
  const known = tracers.get(system)
  if (!known) tracers.set(system, [tracer])
  else if (!known.includes(tracer)) known.push(tracer)
}

/** The tracers from this place of the list on, each within the one before; also those that come while one of them waits. */
const chain = (tracers: readonly RunTracer[], place: number): RunTracer => ({
  turn: (actor, turn, ask, sink) => {
    const tracer = tracers[place]
    const next = (to: ModelSink) => chain(tracers, place + 1).turn(actor, turn, ask, to)
    return tracer ? tracer.turn(actor, turn, next, sink) : ask(sink)
  },
  calls: (actor, calls, execute) => {
    const tracer = tracers[place]
    const next = () => chain(tracers, place + 1).calls(actor, calls, execute)
    return tracer ? tracer.calls(actor, calls, next) : execute()
  },
})

/** All tracers of the run that an actor belongs to, as one. */
export const tracerOf = ({ system }: AnyActorRef): RunTracer => chain(tracersOf().get(system) ?? [], 0)

/** A request for vectors. */
export type TracedEmbeddings = { provider: string; model: string; texts: number }

/** Traces a request for vectors, which no actor makes: `embed` sends it. */
export type TraceEmbeddings = <T extends { usage?: Usage | undefined }>(
  asked: TracedEmbeddings,
  embed: () => Promise<T>,
) => Promise<T>

/** The key under which an inspector has the function that traces embeddings. */
export const embeddingsTracer = Symbol.for('statewire.embeddings.1')

/** Traces a request for vectors with each of these inspectors that can. */
export const tracedEmbeddings = <T extends { usage?: Usage | undefined }>(
  inspectors: readonly unknown[],
  asked: TracedEmbeddings,
  embed: () => Promise<T>,
): Promise<T> =>
  inspectors.reduce<() => Promise<T>>((inner, inspector) => {
    const trace: TraceEmbeddings | undefined = Object(inspector)[embeddingsTracer]
    return trace ? () => trace(asked, inner) : inner
  }, embed)()
