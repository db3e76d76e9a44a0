import type { DBOSConfig } from '@dbos-inc/dbos-sdk'
import type { AnyAgent } from '../agent/Agent.ts'
import type { RunInfo, Runs } from '../durable/runs.ts'
import { ConfigurationError } from '../messages/errors.ts'
import {
  amount,
  callable,
  checkOptions,
  object,
  type Rule,
  wholeFrom,
  withDefaults,
} from '../messages/optionRules.ts'
import { newId } from '../model/newId.ts'
import { Database } from './Database.ts'
import { legName, queueOf, runLeg } from './legWorkflow.ts'
import { type Dbos, loadDbos } from './loadDbos.ts'
import { PostgresRuns } from './PostgresRuns.ts'
import { type LegFunction, Service } from './Service.ts'
import { Sweep } from './Sweep.ts'
import { makeTables } from './tables.ts'

/** How runs are kept on DBOS. */
export type DbosOptions = {
  /** Of Postgres, such as `postgresql://user:password@host:5432/name`. A database that is missing is made. */
  databaseUrl: string
  /** The agents, by name. A run continues in any process that has an agent of its name. */
  agents: Readonly<Record<string, AnyAgent>>
  /** How many runs of each agent this process works on at once; 0: it only starts, reads and decides. Default: 20. */
  concurrency?: number
  /** How long a process may be silent before others continue its runs. Default: 10 seconds. */
  takeOverAfterMs?: number
  /** How often a run is started again without progress before it is `abandoned`. Default: 50. */
  maxRecoveries?: number
  /** Makes of what was stored as `context` what the tools get: connections, clients, users. */
  context?: (stored: unknown, info: RunInfo) => unknown
  /** More for DBOS itself: its logger, its pool, OpenTelemetry. */
  dbos?: Partial<Omit<DBOSConfig, 'systemDatabaseUrl' | 'executorID' | 'listenQueues'>>
}

const defaults = { concurrency: 20, takeOverAfterMs: 10_000, maxRecoveries: 50, dbos: {} }

/** By default DBOS goes by the source of workflows: runs must continue after an update of the program. */
const applicationVersion = 'statewire-1'

/** How often a worker looks for new runs. */
const minPollingIntervalMs = 200

/**
 * Opens the runs in a Postgres database, on DBOS: many processes on many machines share them, and continue those of a
 * process that died. DBOS exists once per process, and so does this; register your own workflows before it.
 *
 * @example
 * const runs = await dbosRuns({ databaseUrl: process.env.DATABASE_URL, agents: { janitor } })
 * const run = await runs.start('janitor', 'Delete notes.txt', { id: 'job-7' })
 * for await (const { cursor, chunk } of run.stream()) send(cursor, chunk)
 */
export const dbosRuns = async (options: DbosOptions): Promise<Runs> => {
  checkOptions<DbosOptions>('The options of dbosRuns', options, rules)
  const { databaseUrl, agents } = options
  if (!agents || !databaseUrl) throw new ConfigurationError('dbosRuns needs { databaseUrl, agents }.')
  const { sdk, Pool } = await loadDbos()
  if (opened || sdk.DBOS.isInitialized())
    throw new ConfigurationError(
      'DBOS runs in this process already: open dbosRuns once, and let it launch DBOS.',
    )
  const { concurrency, takeOverAfterMs, maxRecoveries, dbos } = withDefaults(defaults, options)
  const database = new Database(Pool, databaseUrl)
  const service = new Service(sdk, database, new Map(Object.entries(agents)), legOf(sdk), options.context)
  opened = service
  const worker = newId()
  const sweep = new Sweep(service, { worker, takeOverAfterMs, maxRecoveries })
  const close = async () => {
    service.stop()
    await sweep.stop()
    await sdk.DBOS.shutdown().catch(() => {})
    await sweep.leave().catch(() => {})
    await database.end()
    opened = undefined
  }
  try {
    await database.check()
    await makeTables(database)
    const isWorker = concurrency > 0
    if (isWorker) await sweep.beat()
    sdk.DBOS.setConfig({
      name: 'statewire',
      applicationVersion,
      logLevel: 'error',
      ...dbos,
      systemDatabaseUrl: databaseUrl,
      executorID: worker,
      listenQueues: isWorker ? Object.keys(agents).map(queueOf) : [],
    })
    await sdk.DBOS.launch()
    if (isWorker) {
      for (const agent of Object.keys(agents))
        await sdk.DBOS.registerQueue(queueOf(agent), { workerConcurrency: concurrency, minPollingIntervalMs })
      sweep.start()
    }
    return new PostgresRuns(service, close)
  } catch (thrown) {
    await close()
    throw thrown instanceof ConfigurationError ? thrown : database.failure(thrown)
  }
}

const isPostgresUrl: Rule = (name, value) =>
  typeof value === 'string' && URL.canParse(value) && /^postgres(ql)?:$/.test(new URL(value).protocol)
    ? undefined
    : `${name} must be a URL such as postgresql://user:password@host:5432/name.`

const rules = {
  databaseUrl: isPostgresUrl,
  agents: object,
  concurrency: wholeFrom(0),
  takeOverAfterMs: amount,
  maxRecoveries: wholeFrom(0),
  context: callable,
  dbos: object,
}

/** DBOS keeps one set of workflows per process. */
let opened: Service | undefined
let registered: LegFunction | undefined

const legOf = ({ DBOS }: Dbos): LegFunction => {
  registered ??= DBOS.registerWorkflow(
    async (run: string, leg: number, agent: string): Promise<string> => {
      // DBOS may hand out work a moment after the service was closed.
      if (!opened || opened.signal.aborted) return await new Promise<string>(() => {})
      return await runLeg(opened, run, leg, agent)
    },
    { name: legName },
  )
  return registered
}
