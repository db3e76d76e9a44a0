import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Dice, dice } from '../proof/dice.ts'
import type { WorldScripts } from './world/buildWorld.ts'
import { Episode } from './world/Episode.ts'
import { effectsFile, effectsIn } from './world/effects.ts'
import { type Judgement, judged } from './world/judged.ts'
import { ModelServer } from './world/ModelServer.ts'
import type { RunPlan } from './world/plan.ts'
import type { Death, Way } from './world/requests.ts'
import { WorkerDied, WorkerHandle } from './world/WorkerHandle.ts'
import { type Staff, Workers } from './world/Workers.ts'
import { fencesIn } from './world/watchedDriver.ts'

/** A series of runs whose workers are killed at random. */
export type SeriesOptions = {
  scripts: WorldScripts
  way: Way
  seed: number
  runs: number
  kills: number
  /** The moments at which workers die: at any time, or only right after a tool began to take effect. */
  aim: 'anywhere' | 'begun'
  /** The ways in which workers lose their runs. Default: they are killed. */
  ends?: readonly End[]
  /** The longest time that a tool takes. Default: 15. */
  toolMs?: number
  /** Numbers of workers at the same time: those that run, and those that only read, which are not killed. */
  workers: number
  readers: number
  /** The plans of the runs. */
  planOf(id: string, dice: Dice): RunPlan
  /** Time that all runs may take to end once no worker is killed any more. */
  patienceMs: number
}

/**
 * A way to lose runs to another process: to be killed, to be stopped as a deploy does, to be paused, or to lose the lock of
 * the owner, and be paused at some moment after that.
 */
export type End = 'kill' | 'drain' | 'pause' | 'lock'

/** Runs it, and says what went wrong. */
export const killSeries = async (options: SeriesOptions): Promise<Judgement & { kills: number }> => {
  const { scripts, way, seed, patienceMs } = options
  const random = dice(seed)
  const folder = mkdtempSync(join(tmpdir(), 'statewire-kills-'))
  const model = await ModelServer.start(scripts.model)
  const hire = () => new WorkerHandle(scripts.worker, model.url)
  const { toolMs = 15 } = options
  const workers = new Workers(hire, { way, folder, agents: true, toolMs }, options.workers, random)
  const readers = new Workers(hire, { way, folder, agents: false }, options.readers, random)
  const all = [workers, ...(options.readers > 0 ? [readers] : [])]
  const anyone: Staff = { any: () => random.pick(all).any() }
  try {
    const episodes = Array.from({ length: options.runs }, (_, index) => {
      const own = dice(random.seed())
      return new Episode(options.planOf(`r${index}`, own), { starters: workers, anyone }, own)
    })
    const playing = playAll(episodes, () => (workers.canStart ? workers.kills / options.kills : 1))
    await killAll(workers, folder, options, random)
    await Promise.race([playing, pause(patienceMs, undefined, { ref: false })])
    await Promise.all(episodes.map((episode) => episode.look()))
    const evidence = episodes.map((episode) => episode.evidence)
    const seen = await model.seenResults()
    const judgement = judged(evidence, effectsIn(effectsFile(folder)), seen, fencesIn(folder))
    judgement.faults.surprise.push(...workers.crashes, ...readers.crashes)
    return { ...judgement, kills: workers.kills }
  } finally {
    await Promise.all([workers.stop(), readers.stop()])
    model.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs at the same time. */
const concurrency = 8

/** Plays them in their order; some are kept for the kills to come. */
const playAll = async (episodes: readonly Episode[], killed: () => number): Promise<void> => {
  const waiting = [...episodes.entries()]
  const playNext = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [index, episode] = next
      while (index / episodes.length > killed() + concurrency / episodes.length && killed() < 1)
        await pause(10)
      await episode.play().catch((thrown) => episode.evidence.surprises.push(String(thrown)))
    }
  }
  await Promise.all(Array.from({ length: concurrency }, playNext))
}

/** Kills one worker after the other. One that has nothing to do comes to no moment, and is killed all the same. */
const killAll = async (
  workers: Workers,
  folder: string,
  { kills, aim, ends = ['kill'] }: SeriesOptions,
  random: Dice,
): Promise<void> => {
  while (workers.kills < kills) {
    await pause(20 + random.below(400))
    const worker = await workers.any()
    const end = random.pick(ends)
    if (end !== 'kill') {
      await interrupt(worker, end, folder, random).catch((thrown) => {
        if (!(thrown instanceof WorkerDied)) throw thrown
      })
      continue
    }
    const death = aim === 'begun' ? { moments: 1, kind: aim } : randomDeath(random)
    if (death)
      await worker.ask('die', death).catch((thrown) => {
        if (!(thrown instanceof WorkerDied)) throw thrown
      })
    const wasKilled = worker.died.then(() => true)
    // Where a death in the middle of a tool is what matters, a slow worker gets the time to come there.
    const patience = aim === 'begun' ? 10_000 : 1000
    if (!death || !(await Promise.race([wasKilled, pause(patience, false)]))) worker.kill()
    await worker.died
  }
}

/** Takes the runs of a worker away while it lives. */
const interrupt = async (
  worker: WorkerHandle,
  end: Exclude<End, 'kill'>,
  folder: string,
  random: Dice,
): Promise<void> => {
  if (end === 'drain') {
    worker.stop()
    return
  }
  if (end === 'lock') {
    await worker.ask('dropLocks', { folder })
    // It may be paused before it answers.
    worker.ask('die', { moments: 1 + random.below(20), isPause: true }).catch(() => {})
  } else worker.pause()
  // A pause that does not come meanwhile must not come later.
  await pause(300 + random.below(900))
  let isForgotten = false
  const forgotten = worker.ask('die', { moments: Number.MAX_SAFE_INTEGER }).finally(() => {
    isForgotten = true
  })
  // It may come before the worker reads that.
  const awake = async (): Promise<void> => {
    while (!isForgotten) {
      worker.continue()
      await pause(20)
    }
  }
  await Promise.all([forgotten, awake()])
}

/** Half of the deaths come from outside, at any time; half at one of the next moments that make a difference. */
const randomDeath = ({ below, chance, pick }: Dice): Death | undefined => {
  if (chance(0.5)) return undefined
  const kind = pick(['write', 'request', 'answer', 'effect', 'begun', undefined] as const)
  return { moments: 1 + below(kind === undefined ? 80 : 12), ...(kind && { kind }) }
}
