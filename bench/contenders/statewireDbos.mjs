import { builtModule } from '../built.mjs'
import { agentOf } from './statewire.mjs'
import { asking } from './statewireSqlite.mjs'

/** Runs that are kept by DBOS, in the Postgres that BENCH_DATABASE_URL names. */
export const open = async (options) => {
  const { dbosRuns } = await import(builtModule('dbos'))
  const runs = await dbosRuns({
    databaseUrl: process.env.BENCH_DATABASE_URL,
    agents: { agent: agentOf({ ...options, maxSteps: 10_000 }) },
    concurrency: 100,
  })
  return { runs, ask: asking(runs), close: () => runs.close() }
}
