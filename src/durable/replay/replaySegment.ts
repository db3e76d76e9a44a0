import { agentInternals } from '../../agent/AgentInternals.ts'
import type { AnyAgent } from '../../agent/options.ts'
import {
  type ReplayEngine,
  rereadable,
  type SegmentEnd,
  type SegmentOptions,
  type SegmentStart,
  untilStopped,
} from './engine.ts'
import type { EarlierEnds } from './FollowedSteps.ts'
import { ReplayedRun } from './ReplayedRun.ts'

/**
 * Runs an agent on an engine that replays, to the end of the run or to its next wait for a person. Commands answer what
 * it waits for, and the next segment continues from its snapshot: meanwhile nothing runs.
 *
 * @example
 * const end = await replaySegment(agent, engine, async () => ({ from: { input: { prompt, id } }, seen: 0 }))
 * if (end.status === 'waiting') await save(end.snapshot, end.result.pendingApproval.calls)
 */
export const replaySegment = async (
  agent: AnyAgent,
  engine: ReplayEngine,
  begin: () => Promise<SegmentStart>,
  options: SegmentOptions = {},
): Promise<SegmentEnd> => {
  let isFirstIncarnation = false
  const journal = untilStopped(engine, options.signal)
  const start = await journal.step('begin', async () => {
    isFirstIncarnation = true
    const { seen, ...rest } = await begin()
    return {
      ...rest,
      seen,
      commands: await journal.commands(seen),
      at: Date.now(),
      ...(agentInternals(agent).hasBackground && { isOrdered: true }),
    }
  })
  const reread = rereadable(journal)
  const earlier: EarlierEnds = { late: new Map(), places: [] }
  let isTextInDoubt = !isFirstIncarnation
  for (let attempt = 1; ; attempt += 1) {
    const run: ReplayedRun = new ReplayedRun(agent, reread(), start, {
      ...options,
      earlier,
      attempt,
      isTextInDoubt,
    })
    const end = await run.end
    if (end) return end
    isTextInDoubt = run.isTextInDoubt
  }
}
