/** A run writes in proportion to what was said, not to how often it was stored. */
import { beforeAll, expect, test } from 'vitest'
import { builtScript, Script } from './builtScript.ts'
import { storeFile } from './storeFile.ts'

let script = ''

beforeAll(async () => {
  script = await builtScript('budgetProcess')
}, 180_000)

type Written = { history: number; given: number; snapshots: number[]; handed: number }

const writtenBy = async (steps: number): Promise<Written> => {
  const line = await new Script(script, [storeFile(), String(steps)]).line('written')
  return JSON.parse(line.slice('written '.length))
}

test('200 steps with 1 MB of history write 12 MB at most', async () => {
  const { history, given, handed } = await writtenBy(200)
  expect(history).toBeGreaterThan(1e6)
  // Each message once, its text in the stream, and a packed snapshot for each step.
  expect(given).toBeLessThan(3e6)
  // Handed to the system: how often it writes a page to the disk depends on what else the machine does.
  expect(handed).toBeLessThan(12e6)
}, 180_000)

test('a step of a long run is stored in as many bytes as one of a short run', async () => {
  const { snapshots } = await writtenBy(300)
  const last = snapshots.slice(-20)
  const first = snapshots.slice(20, 40)
  // Only the digits of the counts grow.
  expect(Math.max(...last) - Math.max(...first)).toBeLessThan(30)
}, 180_000)
