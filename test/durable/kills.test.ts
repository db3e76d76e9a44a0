import { beforeAll, expect, test } from 'vitest'
import { killSeries } from './killSeries.ts'
import { buildWorld, type WorldScripts } from './world/buildWorld.ts'

const {
  DURABLE_SEED = '1',
  DURABLE_RUNS = '16',
  DURABLE_KILLS = '8',
  DURABLE_WAY = 'subscribed',
} = process.env

let scripts: WorldScripts
beforeAll(async () => {
  scripts = await buildWorld('kills')
}, 60_000)

test('the control', { timeout: 3_600_000 }, async () => {
  const report = await killSeries({
    scripts,
    way: DURABLE_WAY === 'stored' ? 'stored' : 'subscribed',
    seed: Number(DURABLE_SEED),
    runs: Number(DURABLE_RUNS),
    kills: Number(DURABLE_KILLS),
    workers: 1,
    patienceMs: 20_000,
  })
  console.log(JSON.stringify(report, null, 1))
  expect(report.kills).toBe(0)
})
