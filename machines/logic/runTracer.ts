import type { AnyActorRef } from 'xstate'
import type { ToolCallPart } from '../../src/messages/messages.ts'
import type { ChatModel, ModelRequest, ModelSink } from '../../src/model/chatModel.ts'
import type { Tool } from '../../src/tools/tool.ts'
import type { Attempt } from '../../src/tools/toolExecutor.ts'

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
  /** One call, or a user's batch, made by this actor: `execute` runs it. */
  calls<T>(actor: AnyActorRef, calls: TracedCalls, execute: () => T): T
}

type System = AnyActorRef['system']
type Tracers = WeakMap<System, RunTracer[]>

/** One for all copies of this module: an agent may be part of a bundle, or CommonJS, and its tracer is not. */
const registry = Symbol.for('statewire.tracers.1')
const tracersOf = (): Tracers => {
  const shared = globalThis as { [registry]?: Tracers }
  shared[registry] ??= new WeakMap()
  return shared[registry]
}

/** From now on, this traces the runs of a system, within those that did before. Once is enough. */
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

/** Everyone who traces the run that an actor belongs to. */
export const tracerOf = ({ system }: AnyActorRef): RunTracer => chain(tracersOf().get(system) ?? [], 0)
