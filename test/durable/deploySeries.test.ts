import { writeFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { deploySeries } from './deploySeries.ts'
import { buildWorld, type WorldScripts } from './world/buildWorld.ts'
import { noFaults } from './world/faults.ts'
import { randomPlan } from './world/plan.ts'

// A deploy is no crash: while one process after the other is stopped and replaced, nothing is lost, doubled, dropped or
// abandoned, and no call is in doubt. `npm run soak` does the same for long.

const { DURABLE_SEED = '1', DEPLOYS = '8', DEPLOY_LOAD = '6' } = process.env
const series = { everyMs: 300, load: Number(DEPLOY_LOAD), planOf: randomPlan, patienceMs: 300_000 }

let scripts: WorldScripts
beforeAll(async () => {
  scripts = await buildWorld('deploys')
}, 180_000)

describe('deploys under load', { timeout: 3_600_000 }, () => {
  test.each([
    { name: 'of the same release', rollbacks: 0, kills: 0 },
    { name: 'with rollbacks', rollbacks: 0.3, kills: 0 },
    { name: 'with rollbacks, and processes that are killed', rollbacks: 0.3, kills: 0.3 },
  ])('$name lose nothing, double nothing and show nothing wrong', async ({ name, ...shares }) => {
    const deploys = Number(DEPLOYS)
    const seed = Number(DURABLE_SEED)
    const began = Date.now()
    const { faults, counts } = await deploySeries({
      ...series,
      ...shares,
      scripts,
      seed,
      deploys,
      toolMs: 400,
    })
    const seconds = Math.round((Date.now() - began) / 1000)
    console.log(
      `${name}: seed ${seed}, ${deploys} deploys in ${seconds} s: ${JSON.stringify({ ...counts, ...faults })}`,
    )
    expect(faults).toEqual(noFaults())
    if (shares.kills === 0) expect(counts.inDoubt).toBe(0)
    expect(counts.ran).toBeGreaterThan(0)
  })

  test('of a release that does not start end the series with its own words', async () => {
    const worker = `${scripts.worker}-broken.mjs`
    writeFileSync(worker, 'throw new Error("There is no such thing.")')
    const options = { ...series, rollbacks: 0, kills: 0, seed: 1, deploys: 8, toolMs: 0 }
    const broken = deploySeries({ ...options, scripts: { ...scripts, worker } })
    await expect(broken).rejects.toThrow(/does not start: exit 1: [\s\S]*There is no such thing/)
  })
})
