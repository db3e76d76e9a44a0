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
 * Whoever traces runs. Inspection shows what happens in them; what they do outside, a request or a call of a tool, goes
 * through here, because only who starts it can say in which context it runs.
 */
export type RunTracer = {
  /** A request to a model, made by this actor: `ask` sends it. */
  turn(actor: AnyActorRef, turn: TracedTurn, ask: (sink: ModelSink) => unknown, sink: ModelSink): unknown
  /** One call, or a batch of the user's own, made by this actor: `execute` runs it. */
  calls<T>(actor: AnyActorRef, calls: TracedCalls, execute: () => T): T
}

type Traced = { by: readonly RunTracer[]; all: RunTracer }

const traced = new WeakMap<AnyActorRef['system'], Traced>()

/** From now on, this traces the runs of a system, within those that did before. Once is enough. */
export const addTracer = (system: AnyActorRef['system'], tracer: RunTracer): void => {
  const known = traced.get(system)
  if (known?.by.includes(tracer)) return
  traced.set(system, {
    by: [...(known?.by ?? []), tracer],
    all: known ? within(known.all, tracer) : tracer,
  })
}

const within = (outer: RunTracer, inner: RunTracer): RunTracer => ({
  turn: (actor, turn, ask, sink) =>
    outer.turn(actor, turn, (traced) => inner.turn(actor, turn, ask, traced), sink),
  calls: (actor, calls, execute) => outer.calls(actor, calls, () => inner.calls(actor, calls, execute)),
})

const nobody: RunTracer = { turn: (_, __, ask, sink) => ask(sink), calls: (_, __, execute) => execute() }

/** Everyone who traces the run that an actor belongs to. */
export const tracerOf = ({ system }: AnyActorRef): RunTracer => traced.get(system)?.all ?? nobody
