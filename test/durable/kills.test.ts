import { writeFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Dice } from '../proof/dice.ts'
import { killSeries } from './killSeries.ts'
import { buildWorld, type WorldScripts } from './world/buildWorld.ts'
import { noFaults } from './world/faults.ts'
import { delegatingPlan, type RunPlan, randomPlan } from './world/plan.ts'

// A process that is killed at any moment, any number of times, loses nothing that was acknowledged, runs nothing twice without
// saying so, and shows every reader the right text. `npm run soak` does the same for long.

const { DURABLE_SEED = '1', DURABLE_RUNS = '24', DURABLE_KILLS = '10' } = process.env
const series = { seed: Number(DURABLE_SEED), patienceMs: 300_000 }

let scripts: WorldScripts
beforeAll(async () => {
  scripts = await buildWorld('kills')
}, 180_000)

describe('workers that are killed', { timeout: 3_600_000 }, () => {
  test('at random lose nothing, double nothing and show nothing wrong', async () => {
    const { faults, counts, kills } = await killSeries({
      ...series,
      scripts,
      way: 'stored',
      aim: 'anywhere',
      runs: Number(DURABLE_RUNS),
      kills: Number(DURABLE_KILLS),
      workers: 2,
      readers: 1,
      planOf: randomPlan,
    })
    // At once: the report of a long suite comes late, or never.
    console.log(`seed ${DURABLE_SEED}, ${kills} kills: ${JSON.stringify({ ...counts, ...faults })}`)
    expect(faults).toEqual(noFaults())
    expect(counts.ran).toBeGreaterThan(0)
  })

  test('and that are paused, copy their files or are stopped in between, never work beside each other', async () => {
    const { faults, counts, kills } = await killSeries({
      ...series,
      scripts,
      way: 'stored',
      aim: 'anywhere',
      ends: ['kill', 'drain', 'pause', 'lock', 'lock'],
      runs: Number(DURABLE_RUNS),
      kills: Math.ceil(Number(DURABLE_KILLS) / 2),
      workers: 3,
      readers: 1,
      toolMs: 100,
      planOf: randomPlan,
    })
    console.log(`seed ${DURABLE_SEED}, ${kills} ends: ${JSON.stringify({ ...counts, ...faults })}`)
    expect(faults).toEqual(noFaults())
    expect(counts.ran).toBeGreaterThan(0)
  })

  test('that cannot start end the series with their own words', async () => {
    const worker = `${scripts.worker}-broken.mjs`
    writeFileSync(worker, 'throw new Error("There is no such thing.")')
    const broken = killSeries({
      ...series,
      scripts: { ...scripts, worker },
      way: 'stored',
      aim: 'anywhere',
      runs: 24,
      kills: 1000,
      workers: 2,
      readers: 1,
      planOf: randomPlan,
    })
    await expect(broken).rejects.toThrow(/do not start: exit 1: [\s\S]*There is no such thing/)
  })

  /** The worst moments: the effect of a tool has just begun. */
  const begun = {
    ...series,
    aim: 'begun',
    runs: 8,
    kills: 8,
    workers: 1,
    readers: 0,
    planOf: delegatingPlan,
  } as const

  test('while a tool is at work never let it run twice without a word', async () => {
    const { faults } = await killSeries({ ...begun, scripts, way: 'stored' })
    expect(faults).toEqual(noFaults())
  })

  test('while a call that was approved in doubt is at work never let a yes count twice', async () => {
    const planOf = (id: string, own: Dice): RunPlan => ({
      ...delegatingPlan(id, own),
      rounds: [['settle'], ['settle']],
    })
    const { faults, counts } = await killSeries({ ...begun, scripts, way: 'stored', kills: 16, planOf })
    expect(faults).toEqual(noFaults())
    expect(counts.rerun).toBeGreaterThan(0)
  })

  test('do so when checkpoints come from `subscribe`: this would be seen', async () => {
    const { faults } = await killSeries({ ...begun, scripts, way: 'subscribed' })
    expect(faults.doubled).not.toEqual([])
  })
})
