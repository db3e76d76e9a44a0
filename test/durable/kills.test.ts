import { beforeAll, describe, expect, test } from 'vitest'
import { killSeries } from './killSeries.ts'
import { buildWorld, type WorldScripts } from './world/buildWorld.ts'
import { noFaults } from './world/faults.ts'

// Whoever is killed at any moment, any number of times, loses nothing that was acknowledged, runs nothing twice without
// saying so, and shows every reader the right text. `npm run soak` does the same for long.

const { DURABLE_SEED = '1', DURABLE_RUNS = '24', DURABLE_KILLS = '10' } = process.env
const series = { seed: Number(DURABLE_SEED), patienceMs: 60_000 }

let scripts: WorldScripts
beforeAll(async () => {
  scripts = await buildWorld('kills')
}, 60_000)

describe('workers that are killed at random', { timeout: 3_600_000 }, () => {
  test('lose nothing, double nothing and show nothing wrong', async () => {
    const { faults, counts, kills } = await killSeries({
      ...series,
      scripts,
      way: 'stored',
      runs: Number(DURABLE_RUNS),
      kills: Number(DURABLE_KILLS),
      workers: 2,
    })
    console.log(`seed ${DURABLE_SEED}, ${kills} kills: ${JSON.stringify(counts)}`)
    expect(faults).toEqual(noFaults())
    expect(counts.ran).toBeGreaterThan(0)
  })

  test('do all of that when checkpoints come from `subscribe`, so this would be seen', async () => {
    const { faults } = await killSeries({ ...series, scripts, way: 'subscribed', runs: 16, kills: 12, workers: 1 })
    expect(faults.doubled).not.toEqual([])
  })
})
