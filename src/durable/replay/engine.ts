import type { Snapshot } from 'xstate'
import type { AgentCommand, AgentOutput } from '../../../machines/agent/events.ts'
import type { HostedFrom } from '../../agent/options.ts'
import type { ErrorData } from '../../messages/errors.ts'
import type { JsonObject } from '../../messages/json.ts'
import type { DurableChunk, DurableResult, WaitsFor } from '../runs.ts'

/** A command for a run. The commands of a run are numbered from 1, in the order in which they came. */
export type NumberedCommand = { number: number; command: AgentCommand }

/**
 * An engine that replays, such as DBOS, Restate, Temporal, or a table of your own. The chart runs as it always does. When
 * its process dies, it runs again from the beginning of its segment, and recorded steps answer at once.
 *
 * @example
 * const engine: ReplayEngine = {
 *   step: (name, run) => context.run(name, run),
 *   write: (chunks) => publish(chunks),
 *   commands: (after, isEnd) => (isEnd ? inbox.readOrClose(after) : inbox.readAfter(after)),
 * }
 */
export type ReplayEngine = {
  /**
   * Runs something and records its result, which is JSON; if that name is recorded already, returns the record. A name is
   * used once in a segment. The step takes its place in the journal when this is called, not later: several may be under
   * way.
   */
  step<T>(name: string, run: () => Promise<T>): Promise<T>
  /**
   * Adds to the stream of the run, in the order in which it is called. Live chunks are written inside of the step of their
   * turn, as they come. Others are written outside of steps: each of these writes is recorded like a step, by its place among
   * them, and takes its place in the journal when this is called.
   */
  write(chunks: readonly DurableChunk[], isLive: boolean): Promise<void>
  /**
   * Reads the commands that have come after a number. It is called inside of steps only. With `isEnd`, the run is about to
   * be complete: if none has come, refuse those that come from then on, in the same transaction, or they would be lost.
   */
  commands(after: number, isEnd?: boolean): Promise<NumberedCommand[]>
}

/** The beginning of a segment. JSON: it is recorded. */
export type SegmentStart = {
  from: HostedFrom
  /** The number of the last command that an earlier segment was given; 0 for none. */
  seen: number
  /** The `context` of the tools. */
  context?: unknown
  /** The JSON Schema of the answer, if it must fit one. */
  answer?: JsonObject
}

/** The end of a segment: that of the run, or a wait. `due` is in milliseconds since 1970. `seen` is the number of the last command that it was given. */
export type SegmentEnd = { seen: number } & (
  | { status: 'complete' | 'failed' | 'aborted'; output: AgentOutput }
  | {
      status: 'waiting'
      snapshot: Snapshot<unknown>
      result: DurableResult & { pendingApproval: WaitsFor }
      /** The moment at which a call expires: continue from the snapshot then. */
      due?: number
    }
  /** A wait for a moment only: continue from the snapshot then. */
  | { status: 'sleeping'; snapshot: Snapshot<unknown>; due: number }
  /** The snapshot that it was to continue from is refused: other code, another version. */
  | { status: 'abandoned'; error: ErrorData }
)

/** Options of {@link replaySegment}. */
export type SegmentOptions = {
  /** Makes the `context` of the tools from what is stored. Default: the same. */
  context?: (stored: unknown) => unknown
  /** Called when something new was recorded, with the snapshot of the run's actor, and the number of the last command that it got. */
  onStep?: (snapshot: unknown, seen: number) => void
  /** Stops the segment where it is: it never ends then, and nothing more is recorded. */
  signal?: AbortSignal
  /** The name of the store that the run is in: there, no other run has its id. The inspector shows both as one. */
  store?: string
}

/**
 * The engine of a segment, up to the moment at which the segment is stopped, or the engine throws. After that nothing is
 * recorded: a step that is cut short then has not ended, and the next incarnation does it again.
 */
export const untilStopped = (engine: ReplayEngine, signal: AbortSignal | undefined): ReplayEngine => {
  let isBroken = false
  const unlessOver = async <T>(work: Promise<T>): Promise<T> => {
    const value = await work
    return isBroken || signal?.aborted ? await never() : value
  }
  const noticing = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (thrown) {
      isBroken = true
      throw thrown
    }
  }
  return {
    step: (name, run) => unlessOver(noticing(engine.step(name, () => unlessOver(run())))),
    write: (chunks, isLive) =>
      isBroken || signal?.aborted ? never() : noticing(engine.write(chunks, isLive)),
    commands: (after, isEnd) => engine.commands(after, isEnd),
  }
}

/**
 * Makes engines that each begin at the beginning of the journal, for a chart that runs again in the same process: what
 * one of them has recorded or written is there for the next ones, and `engine` is not asked a second time.
 */
export const rereadable = (engine: ReplayEngine): (() => ReplayEngine) => {
  const steps = new Map<string, Promise<unknown>>()
  const writes: Promise<void>[] = []
  return () => {
    let place = 0
    return {
      step: <T>(name: string, run: () => Promise<T>) => {
        const step = steps.get(name) ?? engine.step(name, run)
        steps.set(name, step)
        return step as Promise<T>
      },
      write: (chunks, isLive) => {
        if (isLive) return engine.write(chunks, isLive)
        const write = writes[place] ?? engine.write(chunks, isLive)
        writes[place] = write
        place += 1
        return write
      },
      commands: engine.commands,
    }
  }
}

/** A new promise each time: everything that waits for a promise is kept while the promise is. */
const never = () => new Promise<never>(() => {})
