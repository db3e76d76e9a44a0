import type { AnyAgent } from '../../agent/Agent.ts'
import { ReplayedRun } from './ReplayedRun.ts'
import type { LegEnd, LegStart, ReplayEngine } from './replay.ts'
import { untilStopped } from './untilStopped.ts'

/** Options of {@link replayLeg}. */
export type LegOptions = {
  /** What the tools get, from what is stored as `context`. Default: the same. */
  context?: (stored: unknown) => unknown
  /** Called when something new was recorded, with the snapshot of the run's actor. */
  onStep?: (snapshot: unknown) => void
  /** Stops the leg where it is: it never ends then, and nothing more is recorded. */
  signal?: AbortSignal
}

/**
 * Runs an agent on an engine that replays, to the end of the run or to its next wait for a person. Commands answer what
 * it waits for, and the next leg continues from its snapshot: meanwhile nothing runs.
 *
 * @example
 * const end = await replayLeg(agent, engine, async () => ({ from: { input: { prompt, id } }, seen: 0 }))
 * if (end.status === 'waiting') await save(end.snapshot, end.result.pendingApproval.calls)
 */
export const replayLeg = async (
  agent: AnyAgent,
  engine: ReplayEngine,
  begin: () => Promise<LegStart>,
  options: LegOptions = {},
): Promise<LegEnd> => {
  let isFirstLife = false
  const journal = untilStopped(engine, options.signal)
  const start = await journal.step('begin', async () => {
    isFirstLife = true
    const { seen, ...rest } = await begin()
    return { ...rest, seen, commands: await journal.commands(seen) }
  })
  return await new ReplayedRun(agent, journal, start, isFirstLife, options).end
}
