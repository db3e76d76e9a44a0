import { beforeAll, describe, expect, test } from 'vitest'
import { killSeries } from './killSeries.ts'
import { buildWorld, type WorldScripts } from './world/buildWorld.ts'
import { noFaults } from './world/faults.ts'
import { delegatingPlan, randomPlan } from './world/plan.ts'

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

  test('do so when checkpoints come from `subscribe`: this would be seen', async () => {
    const { faults } = await killSeries({ ...begun, scripts, way: 'subscribed' })
    expect(faults.doubled).not.toEqual([])
  })
})
