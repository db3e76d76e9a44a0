import type { AnyActorRef } from 'xstate'
import type { ToolResultPart } from '../src/messages/messages.ts'
import type { ModelSink } from '../src/model/chatModel.ts'
import type { Tool } from '../src/tools/tool.ts'

/**
 * Whoever keeps a run: a store that writes down each of its steps, or an engine that runs it again from its records. What
 * a host gives counts for every machine of the run, those of sub-agents as well.
 */
export type RunHost = {
  /**
   * Called as the first effect of a step of any machine of the run: before its children start, and before anybody hears
   * of it. If it throws, the step has no effect, and the run stops where it was written down last. Reads of a running
   * answer do not count as steps.
   */
  writeAhead?(): void
  /** Ids that a run makes, by its own id: an engine that runs it again needs the same ones, whatever runs beside it. */
  newId?(run: string): string
  /** One request to a model: `ask` sends it. Its name says which run asks, and for which step. Returns what closes it, as the model does. */
  turn?(name: string, ask: (sink: ModelSink) => unknown, sink: ModelSink): unknown
  /** One attempt at a call of a tool, by its idempotency key: `execute` runs it. */
  call?(key: string, execute: () => Promise<ToolResultPart>, tool: Tool | undefined): Promise<ToolResultPart>
}

const hosts = new WeakMap<AnyActorRef, RunHost>()

/** From now on, this is whoever keeps the run of an actor. */
export const setHost = (actor: AnyActorRef, host: RunHost): void => void hosts.set(actor, host)

const nobody: RunHost = {}

/** Whoever keeps the run that an actor belongs to. */
export const hostOf = (actor: AnyActorRef | undefined): RunHost =>
  actor ? (hosts.get(actor) ?? hostOf(actor._parent)) : nobody
