/**
 * Background agents two deep on two workers, with sleeps, approvals and expiries inside, and messages of another process: the
 * workers and the one that writes are killed at any moment. `npm run soak` does the same for long.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dbosRuns } from '../../src/dbos/index.ts'
import { buildScripts } from '../buildScripts.ts'
import { familyLead } from '../durable/family/familyAgents.ts'
import { familySeries } from '../durable/family/familySeries.ts'
import { type Postgres, startPostgres } from './postgres.ts'

const { DURABLE_SEED = '1', DBOS_FAMILY_KILLS = '4' } = process.env

let postgres: Postgres

beforeAll(async () => {
  postgres = await startPostgres()
}, 180_000)

afterAll(async () => {
  await postgres?.stop()
})

test('families on two workers that are killed lose nothing, double nothing and keep every order', async () => {
  const { script } = await buildScripts('dbos-family', { script: 'test/durable/family/familyProcess.ts' })
  const url = postgres.database()
  const open = (effects: string) =>
    dbosRuns({ databaseUrl: url, agents: { lead: familyLead(effects) }, concurrency: 0 })
  const kills = Number(DBOS_FAMILY_KILLS)
  const { faults, ...counts } = await familySeries(script, Number(DURABLE_SEED), kills, { url, open })
  console.log(`DBOS, seed ${DURABLE_SEED}: ${JSON.stringify({ ...counts, ...faults })}`)
  expect(faults).toEqual({ lost: [], doubled: [], stuck: [], outOfOrder: [], wrongText: [] })
}, 3_600_000)
