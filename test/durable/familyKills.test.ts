/**
 * Background agents two deep, with sleeps, approvals and expiries inside, and messages of another process: the processes
 * that run them and the one that writes to them are killed at any moment. `npm run soak` does the same for long.
 */
import { expect, test } from 'vitest'
import { buildScripts } from '../buildScripts.ts'
import { familySeries } from './family/familySeries.ts'

const { DURABLE_SEED = '1', FAMILY_KILLS = '8' } = process.env

test('families whose processes are killed lose nothing, double nothing and keep every order', async () => {
  const { script } = await buildScripts('family', { script: 'test/durable/family/familyProcess.ts' })
  const { faults, ...counts } = await familySeries(script, Number(DURABLE_SEED), Number(FAMILY_KILLS))
  // At once: the report of a long suite comes late, or never.
  console.log(`seed ${DURABLE_SEED}: ${JSON.stringify({ ...counts, ...faults })}`)
  expect(faults).toEqual({ lost: [], doubled: [], stuck: [], outOfOrder: [], wrongText: [] })
}, 3_600_000)
