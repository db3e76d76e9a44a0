import { dbosRuns } from '../../../src/dbos/index.ts'
import { plannedAgents } from './agents.ts'

// A process of its own, started and killed by the tests: works on whatever is in the queues.

const [databaseUrl = '', modelUrl = '', log = '', maxRecoveries = '1000'] = process.argv.slice(2)

await dbosRuns({
  databaseUrl,
  agents: plannedAgents(modelUrl, log),
  concurrency: 3,
  takeOverAfterMs: 1500,
  maxRecoveries: Number(maxRecoveries),
})
console.log('ready')
