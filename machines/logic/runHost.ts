import type { AnyActorRef } from 'xstate'
import type { ToolResultPart } from '../../src/messages/messages.ts'
import type { ModelSink } from '../../src/model/chatModel.ts'
import type { Tool } from '../../src/tools/tool.ts'

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
  /**
   * Ids that a run makes, by its own id: an engine that replays it needs the same ones, even if other runs run beside
   * it.
   */
  newId?(run: string): string
  /** One request to a model: `ask` sends it. Its name says which run asks, and for which step. Returns what closes it, as the model does. */
  turn?(name: string, ask: (sink: ModelSink) => unknown, sink: ModelSink): unknown
  /** One attempt at a call of a tool, by its idempotency key: `execute` runs it. */
  call?(key: string, execute: () => Promise<ToolResultPart>, tool: Tool | undefined): Promise<ToolResultPart>
}

const hosts = new WeakMap<AnyActorRef, RunHost>()

/** From now on, this is the host of an actor's run. */
export const setHost = (actor: AnyActorRef, host: RunHost): void => void hosts.set(actor, host)

const noHost: RunHost = {}

/** The host of the run that an actor belongs to. */
export const hostOf = (actor: AnyActorRef | undefined): RunHost =>
  actor ? (hosts.get(actor) ?? hostOf(actor._parent)) : noHost
