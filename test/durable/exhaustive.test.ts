import { beforeAll, describe, expect, test } from 'vitest'
import { everyMoment } from './everyMoment.ts'
import { buildWorld, type WorldScripts } from './world/buildWorld.ts'
import { noFaults } from './world/faults.ts'
import type { RunPlan } from './world/plan.ts'

// There is no moment at which a process may not die: before and after each write, each request, each effect of a tool and
// each acknowledgement.

/** Two tools, an approval, and an answer that breaks off once. */
const plan: Omit<RunPlan, 'id'> = {
  agent: 'sequential',
  rounds: [['note'], ['check']],
  words: 3,
  failures: { 1: 'cut' },
  inner: [],
}

const control = { way: 'subscribed', patienceMs: 20_000 } as const

let scripts: WorldScripts
beforeAll(async () => {
  scripts = await buildWorld('exhaustive')
}, 60_000)

describe('a worker that dies at any one moment', { timeout: 600_000 }, () => {
  test('loses nothing, doubles nothing and shows nothing wrong', async () => {
    const { faults, counts, moments } = await everyMoment({
      scripts,
      plan,
      way: 'stored',
      patienceMs: 20_000,
    })
    console.log(`${moments} moments: ${JSON.stringify(counts)}`)
    expect(faults).toEqual(noFaults())
    expect(moments).toBeGreaterThan(40)
  })

  test('shows messages twice when checkpoints come from `subscribe`: this would be seen', async () => {
    const { faults } = await everyMoment({ ...control, scripts, plan, kind: 'write', first: 6 })
    expect(faults.wrongStream).not.toEqual([])
  })

  test('runs the tools of a sub-agent twice then', async () => {
    const delegating: typeof plan = {
      ...plan,
      rounds: [['delegate']],
      inner: [['note'], ['note']],
      failures: {},
    }
    const { faults } = await everyMoment({ ...control, scripts, plan: delegating, kind: 'begun' })
    expect(faults.doubled).not.toEqual([])
  })
})
