import { beforeAll, expect, test } from 'vitest'
import { everyMoment } from './everyMoment.ts'
import { buildWorld, type WorldScripts } from './world/buildWorld.ts'

let scripts: WorldScripts
beforeAll(async () => {
  scripts = await buildWorld('exhaustive')
}, 60_000)

test('the control', { timeout: 3_600_000 }, async () => {
  const report = await everyMoment({
    scripts,
    way: 'subscribed',
    plan: { agent: 'sequential', rounds: [['note'], ['check']], words: 3, failures: { 1: 'cut' }, inner: [] },
    patienceMs: 10_000,
  })
  console.log(JSON.stringify(report, null, 1))
  expect(report.moments).toBe(0)
})
