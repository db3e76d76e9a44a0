import type { AnyActorRef } from 'xstate'
import type { ToolCallPart } from '../src/messages/messages.ts'
import type { ChatModel, ModelRequest, ModelSink } from '../src/model/chatModel.ts'
import type { Tool } from '../src/tools/tool.ts'
import type { Attempt } from '../src/tools/toolExecutor.ts'

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

const tracers = new WeakMap<AnyActorRef['system'], RunTracer>()

/** From now on, this traces the runs of a system; the first one stays. */
export const setTracer = (system: AnyActorRef['system'], tracer: RunTracer): void => {
  if (!tracers.has(system)) tracers.set(system, tracer)
}

const noTracer: RunTracer = { turn: (_, __, ask, sink) => ask(sink), calls: (_, __, execute) => execute() }

/** The tracer of the run that an actor belongs to. */
export const tracerOf = ({ system }: AnyActorRef): RunTracer => tracers.get(system) ?? noTracer
