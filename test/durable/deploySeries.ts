import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Dice, dice } from '../proof/dice.ts'
import type { WorldScripts } from './world/buildWorld.ts'
import { Deployments } from './world/Deployments.ts'
import { Episode } from './world/Episode.ts'
import { effectsFile, effectsIn } from './world/effects.ts'
import { type Judgement, judged } from './world/judged.ts'
import { ModelServer } from './world/ModelServer.ts'
import type { RunPlan } from './world/plan.ts'
import { fencesIn } from './world/watchedDriver.ts'

/** A series of deploys under load. */
export type DeployOptions = {
  scripts: WorldScripts
  seed: number
  deploys: number
  /** The time between two deploys. */
  everyMs: number
  /** Runs that are under way at the same time. */
  load: number
  toolMs: number
  /** The share of deploys that go to the next release, or back from it. */
  rollbacks: number
  /** The share of processes that are killed instead of stopped. */
  kills: number
  planOf(id: string, dice: Dice): RunPlan
  patienceMs: number
}

/** Deploys again and again while runs are started, read and decided on, and says what went wrong with them. */
export const deploySeries = async (options: DeployOptions): Promise<Judgement> => {
  const { scripts, seed, load, toolMs, rollbacks, kills, patienceMs } = options
  const random = dice(seed)
  const folder = mkdtempSync(join(tmpdir(), 'statewire-deploys-'))
  const model = await ModelServer.start(scripts.model)
  const place = { way: 'stored', folder, agents: true, toolMs } as const
  const deployments = new Deployments({ scripts, modelUrl: model.url, place, rollbacks, kills, dice: random })
  const episodes: Episode[] = []
  let isLoaded = true
  const play = async (): Promise<void> => {
    while (isLoaded) {
      const own = dice(random.seed())
      const staff = { starters: deployments, anyone: deployments }
      const episode = new Episode(options.planOf(`r${episodes.length}`, own), staff, own)
      episodes.push(episode)
      await episode.play().catch((thrown) => episode.evidence.surprises.push(String(thrown)))
    }
  }
  try {
    const playing = Promise.all(Array.from({ length: load }, play))
    for (let count = 0; count < options.deploys; count += 1) {
      const begun = performance.now()
      await deployments.deploy()
      await pause(Math.max(0, options.everyMs - (performance.now() - begun)))
    }
    await deployments.deployLast()
    isLoaded = false
    await Promise.race([playing, pause(patienceMs, undefined, { ref: false })])
    await Promise.all(episodes.map((episode) => episode.look()))
    const evidence = episodes.map((episode) => episode.evidence)
    const seen = await model.seenResults()
    const judgement = judged(evidence, effectsIn(effectsFile(folder)), seen, fencesIn(folder))
    judgement.faults.surprise.push(...deployments.crashes)
    return judgement
  } finally {
    isLoaded = false
    await deployments.stop()
    model.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
