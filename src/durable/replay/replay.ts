import type { Snapshot } from 'xstate'
import type { AgentCommand, AgentOutput } from '../../../machines/agent/events.ts'
import type { HostedFrom } from '../../agent/Agent.ts'
import type { ErrorData } from '../../messages/errors.ts'
import type { DurableChunk, DurableResult, WaitsFor } from '../runs.ts'

/** A command for a run. Those of one run are numbered from 1 on, in the order in which they came. */
export type NumberedCommand = { number: number; command: AgentCommand }

/**
 * What an engine must be able to do so that runs can live on it: DBOS, Restate, Temporal, or a table of your own. The chart
 * runs as it always does. When its process dies, it runs again from the beginning, and what was recorded answers at once.
 *
 * @example
 * const engine: ReplayEngine = {
 *   step: (name, run) => context.run(name, run),
 *   write: (chunks) => publish(chunks),
 *   commands: (after) => inbox.readAfter(after),
 * }
 */
export type ReplayEngine = {
  /**
   * Runs something and records what it gives, which is JSON; if that name is recorded already, gives the record. A name is
   * used once in a leg. The step takes its place in the journal when this is called, not later: several may be under way.
   */
  step<T>(name: string, run: () => Promise<T>): Promise<T>
  /**
   * Adds to the stream of the run, in the order in which it is called. Live chunks are written inside of the step of their
   * turn, as they come. Others are written outside of steps: each of these writes is recorded like a step, by its place among
   * them, and takes its place in the journal when this is called.
   */
  write(chunks: readonly DurableChunk[], isLive: boolean): Promise<void>
  /** The commands that have come after a number. It is called inside of steps only. */
  commands(after: number): Promise<NumberedCommand[]>
}

/** What a leg begins with. JSON: it is recorded. */
export type LegStart = {
  from: HostedFrom
  /** The number of the last command that an earlier leg was given; 0 for none. */
  seen: number
  /** What the tools get as `context`. */
  context?: unknown
}

/** Where a leg of a run has come to: its end, or a wait. `seen` is the number of the last command that it was given. */
export type LegEnd = { seen: number } & (
  | { status: 'complete' | 'failed' | 'aborted'; output: AgentOutput }
  | { status: 'waiting'; snapshot: Snapshot<unknown>; result: DurableResult & { pendingApproval: WaitsFor } }
  /** The snapshot it was to go on from is refused: other code, another version. */
  | { status: 'abandoned'; error: ErrorData }
)
