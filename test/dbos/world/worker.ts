import { dbosRuns } from '../../../src/dbos/index.ts'
import { plannedAgents } from './agents.ts'

// A process of its own, started, stopped and killed by the tests: works on whatever is in the queues.

const [databaseUrl = '', modelUrl = '', log = '', maxRecoveries = '1000'] = process.argv.slice(2)

const runs = await dbosRuns({
  databaseUrl,
  agents: plannedAgents(modelUrl, log),
  concurrency: 3,
  takeOverAfterMs: 1500,
  maxRecoveries: Number(maxRecoveries),
})
process.once('SIGTERM', async () => {
  await runs.close({ drain: 60_000 })
  process.exit(0)
})
console.log('ready')
