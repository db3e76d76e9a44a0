import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Dice } from '../proof/dice.ts'
import type { WorldScripts } from './world/buildWorld.ts'
import { Crew } from './world/Crew.ts'
import { Episode, type Evidence } from './world/Episode.ts'
import { type Effect, effectsFile, effectsIn } from './world/effects.ts'
import { type Judgement, judged } from './world/judged.ts'
import { ModelServer } from './world/ModelServer.ts'
import type { MomentKind } from './world/moments.ts'
import type { RunPlan } from './world/plan.ts'
import type { Way } from './world/requests.ts'
import { Succession } from './world/Succession.ts'
import { WorkerHandle } from './world/WorkerHandle.ts'

export type MomentsOptions = {
  scripts: WorldScripts
  way: Way
  /** The run that is played again and again. */
  plan: Omit<RunPlan, 'id'>
  /** Limits the moments to one kind. */
  kind?: MomentKind
  /** Limits the number of moments. */
  first?: number
  /** Takes only every n-th moment. */
  every?: number
  /** The worker that takes over dies as well, at one of the moments that these dice choose. */
  again?: Dice
  /** Time that one run may take, with all its deaths. */
  patienceMs: number
}

/** Says yes when an approval is asked for, and does nothing that is not needed. */
const steady: Dice = {
  below: () => 0,
  chance: (probability) => probability > 0.5,
  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new Error('There is nothing to pick from.')
    return list[0] as T
  },
  seed: () => 0,
}

/** Runs in a row that must come to their end before their worker dies: the count of moments varies a little. */
const survivors = 4

/**
 * Plays a run once for each moment that makes a difference: its worker dies at the first one, at the second one, and so
 * on, until the run is over before it could die. Another worker then goes on.
 */
export const everyMoment = async (options: MomentsOptions): Promise<Judgement & { moments: number }> => {
  const { scripts, way, plan, kind, first = Number.POSITIVE_INFINITY, every = 1, again, patienceMs } = options
  const model = await ModelServer.start(scripts.model)
  const crew = new Crew(() => new WorkerHandle(scripts.worker, model.url))
  const folder = mkdtempSync(join(tmpdir(), 'statewire-moments-'))
  const evidence: Evidence[] = []
  const effects: Effect[] = []
  let last = 0
  let moment = 0

  const playOne = async (moments: number): Promise<void> => {
    const deaths = [{ moments, ...(kind && { kind }) }, ...(again ? [{ moments: 1 + again.below(30) }] : [])]
    const own = mkdtempSync(join(folder, 'moment-'))
    const workers = new Succession(crew, { way, folder: own, agents: true }, deaths)
    const episode = new Episode(
      { ...plan, id: `m${moments}` },
      { starters: workers, anyone: workers },
      steady,
    )
    evidence.push(episode.evidence)
    const playing = episode.play().catch((thrown) => episode.evidence.surprises.push(String(thrown)))
    await Promise.race([playing, pause(patienceMs, undefined, { ref: false })])
    if (workers.deaths > 0) last = Math.max(last, moments)
    effects.push(...effectsIn(effectsFile(own)))
    await workers.end()
  }
  const playOn = async (): Promise<void> => {
    while (moment - last < survivors * every && moment < first) {
      moment += every
      await playOne(moment)
    }
  }

  try {
    await Promise.all([playOn(), playOn()])
    return { ...judged(evidence, effects, await model.seenResults()), moments: last }
  } finally {
    await crew.stop()
    model.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
