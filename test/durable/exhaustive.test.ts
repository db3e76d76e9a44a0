import { beforeAll, describe, expect, test } from 'vitest'
import { dice } from '../proof/dice.ts'
import { isWhole } from '../proof/sample.ts'
import { everyMoment } from './everyMoment.ts'
import { buildWorld, type WorldScripts } from './world/buildWorld.ts'
import { noFaults } from './world/faults.ts'
import type { RunPlan } from './world/plan.ts'

// There is no moment at which a process may not die: before and after each write, each request, each effect of a tool and
// each acknowledgement. `npm test` tries each third moment; `npm run proof` tries all, with more plans, and kills the process that takes
// over as well.

type Plan = Omit<RunPlan, 'id'>

/** Two tools, an approval, and an answer that breaks off once. */
const plan: Plan = {
  agent: 'sequential',
  rounds: [['note'], ['check']],
  words: 3,
  failures: { 1: 'cut' },
  inner: [],
}

const { DURABLE_SEED = '1' } = process.env

const morePlans: [string, Plan][] = [
  ['tools at the same time', { ...plan, agent: 'parallel', rounds: [['note', 'again', 'settle', 'check']] }],
  ['a sub-agent that asks', { ...plan, rounds: [['delegate', 'note']], inner: [['check'], ['settle']] }],
  ['reasoning', { ...plan, agent: 'reasoning', failures: { 2: 'refused' } }],
  [
    'reflection with a sub-agent',
    { ...plan, agent: 'reflection', rounds: [['delegate']], inner: [['again']] },
  ],
  ['a model that does not work', { ...plan, agent: 'fallback', rounds: [['again'], ['note']] }],
]

let scripts: WorldScripts
beforeAll(async () => {
  scripts = await buildWorld('exhaustive')
}, 180_000)

const patienceMs = 180_000

describe('a worker that dies at any one moment', { timeout: 3_600_000 }, () => {
  test('loses nothing, doubles nothing and shows nothing wrong', async () => {
    const { faults, counts, moments } = await everyMoment({
      scripts,
      plan,
      way: 'stored',
      every: isWhole ? 1 : 3,
      patienceMs,
    })
    console.log(`${moments} moments: ${JSON.stringify(counts)}`)
    expect(faults).toEqual(noFaults())
    expect(moments).toBeGreaterThan(40)
  })

  test.each(isWhole ? morePlans : [])('does so with %s, and its heir dies as well', async (_, other) => {
    const again = dice(Number(DURABLE_SEED))
    const { faults, counts, moments } = await everyMoment({
      scripts,
      plan: other,
      way: 'stored',
      again,
      patienceMs,
    })
    console.log(`${moments} moments: ${JSON.stringify(counts)}`)
    expect(faults).toEqual(noFaults())
  })
})

describe('checkpoints that come from `subscribe` would be seen', { timeout: 600_000 }, () => {
  const control = { way: 'subscribed', patienceMs } as const

  test('messages are shown twice', async () => {
    const { faults } = await everyMoment({ ...control, scripts, plan, kind: 'write', first: 6 })
    expect(faults.wrongStream).not.toEqual([])
  })

  test('the tools of a sub-agent run twice', async () => {
    const delegating: Plan = { ...plan, rounds: [['delegate']], inner: [['note'], ['note']], failures: {} }
    const { faults } = await everyMoment({ ...control, scripts, plan: delegating, kind: 'begun' })
    expect(faults.doubled).not.toEqual([])
  })
})
