import { expect, test } from 'vitest'
import { soak } from './soak.ts'

// A short, repeatable slice of `npm run soak`.

const { SOAK_SEED = '7', SOAK_MINUTES = '0.1', SOAK_RUNS } = process.env

test('random faults, splits and interruptions break no promise', {
  timeout: (Number(SOAK_MINUTES) + 5) * 60_000,
}, async () => {
  const count = await soak({
    seed: Number(SOAK_SEED),
    minutes: Number(SOAK_MINUTES),
    ...(SOAK_RUNS !== undefined && { runs: Number(SOAK_RUNS) }),
    report: (line) => console.log(line),
  })
  expect(count).toBeGreaterThan(0)
})
