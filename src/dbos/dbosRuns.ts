import type { DBOSConfig } from '@dbos-inc/dbos-sdk'
import type { AnyAgent } from '../agent/Agent.ts'
import { Agents } from '../durable/runOptions.ts'
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
import { Database, type Dbos, loadDbos } from './Database.ts'
import { PostgresRuns } from './PostgresRuns.ts'
import { queueOf, runSegment, type SegmentFunction, Service, workflowName } from './Service.ts'
import { Sweep } from './Sweep.ts'
import { lock, makeTables } from './tables.ts'

/** Options of {@link dbosRuns}. */
export type DbosOptions = {
  /** The URL of Postgres, such as `postgresql://user:password@host:5432/name`. A database that is missing is made. */
  databaseUrl: string
  /** The agents, by name. A run continues in any process that has an agent with its name. */
  agents: Readonly<Record<string, AnyAgent>>
  /** Runs of each agent that this process works on at the same time; with 0 it only starts, reads and decides. Default: 20. */
  concurrency?: number
  /** Time that a process may be silent before others continue its runs. Default: 10 seconds. */
  takeOverAfterMs?: number
  /** Restarts of a run without progress before it is `abandoned`. Default: 50. */
  maxRecoveries?: number
  /** Makes the `context` of the tools from what was stored with the run: connections, clients, users. */
  context?: (stored: unknown, info: RunInfo) => unknown
  /** More options for DBOS itself: its logger, its pool, OpenTelemetry. */
  dbos?: Partial<Omit<DBOSConfig, 'systemDatabaseUrl' | 'executorID' | 'listenQueues'>>
}

const defaults = { concurrency: 20, takeOverAfterMs: 10_000, maxRecoveries: 50, dbos: {} }

/** A fixed version: by default DBOS goes by the source of workflows, and runs must continue after an update of the program. */
const applicationVersion = 'statewire-1'

/** Time between two looks of a worker for new runs. */
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
  const service = new Service(sdk, database, new Agents(agents), segmentFunction(sdk), options.context)
  opened = service
  const worker = newId()
  const sweep = new Sweep(service, { worker, takeOverAfterMs, maxRecoveries })
  const close = async (drainMs: number) => {
    await service.drain(drainMs)
    service.stop()
    await sweep.stop()
    await sdk.DBOS.shutdown().catch(() => {})
    await sweep.leave().catch(() => {})
    await database.end()
    opened = undefined
  }
  try {
    await database.check()
    const isWorker = concurrency > 0
    await makeTables(database)
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
    // Two processes that make the tables of DBOS at the same time get in each other's way.
    await database.exclusively(lock.launch, () => sdk.DBOS.launch())
    if (isWorker) {
      for (const agent of Object.keys(agents))
        await sdk.DBOS.registerQueue(queueOf(agent), { workerConcurrency: concurrency, minPollingIntervalMs })
      sweep.start()
    }
    return new PostgresRuns(service, { worker, aliveMs: takeOverAfterMs, close })
  } catch (thrown) {
    await close(0)
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
let registered: SegmentFunction | undefined

const segmentFunction = ({ DBOS }: Dbos): SegmentFunction => {
  registered ??= DBOS.registerWorkflow(
    async (run: string, segment: number, agent: string): Promise<string> => {
      // DBOS may hand out work a moment after the service was closed.
      if (!opened || opened.signal.aborted) return await new Promise<string>(() => {})
      return await runSegment(opened, run, segment, agent)
    },
    { name: workflowName },
  )
  return registered
}
