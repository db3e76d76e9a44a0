/** The promises of chats, of time and of background agents that every store keeps, on DBOS: the same tests run over a file in test/durable. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { dbosRuns, type StoredRuns } from '../../src/dbos/index.ts'
import { chatContract } from '../durable/chatContract.ts'
import { taskContract } from '../durable/taskContract.ts'
import { timeContract } from '../durable/timeContract.ts'
import { wiping } from '../durable/wiping.ts'
import { type Postgres, startPostgres } from './postgres.ts'

let postgres: Postgres
let runs: StoredRuns | undefined

beforeAll(async () => {
  postgres = await startPostgres()
}, 180_000)

afterEach(async () => {
  await runs?.close({ drain: 0 })
  runs = undefined
})

afterAll(async () => {
  await postgres?.stop()
})

const open: Parameters<typeof chatContract>[0] = async (agents) => {
  runs = await dbosRuns({ databaseUrl: postgres.database(), agents })
  return runs
}

chatContract(open)
timeContract(open)
taskContract(open)

test('a backup is made with the tools of Postgres', async () => {
  await expect((await open({ agent: wiping([]).agent })).backup('runs.db')).rejects.toThrow('pg_dump')
})
