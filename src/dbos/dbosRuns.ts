import type { DBOSConfig } from '@dbos-inc/dbos-sdk'
import { environmentInspector } from '../agent/environmentInspector.ts'
import type { AnyAgent } from '../agent/options.ts'
import { Agents } from '../durable/runOptions.ts'
import type { RunInfo, StoredRuns } from '../durable/runs.ts'
import { setView } from '../durable/storeView.ts'
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
import { Alarm } from './Alarm.ts'
import { Database, type Dbos, loadDbos } from './Database.ts'
import { PostgresRuns } from './PostgresRuns.ts'
import { postgresView } from './postgresView.ts'
import { queueOf, runSegment, type SegmentFunction, Service, workflowName } from './Service.ts'
import { Sweep } from './Sweep.ts'
import { checkTables, lock, makeTables } from './tables.ts'

/** Options of {@link dbosRuns}. */
export type DbosOptions = {
  /** The URL of Postgres, such as `postgresql://user:password@host:5432/name`. A database that is missing is made. */
  databaseUrl: string
  /**
   * The agents, by name. A run continues in any process that has an agent with its name. Without any, this process reads
   * and decides, and the database must have its tables already. Default: none.
   */
  agents?: Readonly<Record<string, AnyAgent>>
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

const defaults = { agents: {}, concurrency: 20, takeOverAfterMs: 10_000, maxRecoveries: 50, dbos: {} }

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
export const dbosRuns = async (options: DbosOptions): Promise<StoredRuns> => {
  checkOptions<DbosOptions>('The options of dbosRuns', options, rules)
  const { databaseUrl } = options
  if (!databaseUrl) throw new ConfigurationError('dbosRuns needs { databaseUrl }.')
  const { sdk, Pool } = await loadDbos()
  if (opened || sdk.DBOS.isInitialized())
    throw new ConfigurationError(
      'DBOS runs in this process already: open dbosRuns once, and let it launch DBOS.',
    )
  const { agents, concurrency, takeOverAfterMs, maxRecoveries, dbos } = withDefaults(defaults, options)
  const known = new Agents(agents)
  const database = new Database(Pool, databaseUrl)
  const service = new Service(sdk, database, known, segmentFunction(sdk), options.context, takeOverAfterMs)
  opened = service
  const worker = newId()
  const sweep = new Sweep(service, { worker, takeOverAfterMs, maxRecoveries })
  const alarm = new Alarm(service)
  const close = async (drainMs: number) => {
    await service.drain(drainMs)
    service.stop()
    await sweep.stop()
    await alarm.stopped()
    await sdk.DBOS.shutdown().catch(() => {})
    await sweep.leave().catch(() => {})
    await database.end()
    opened = undefined
  }
  try {
    await database.check(!service.isGuest)
    const isWorker = concurrency > 0 && !service.isGuest
    if (service.isGuest) await checkTables(database)
    else await makeTables(database)
    if (isWorker) await sweep.beat()
    sdk.DBOS.setConfig({
      name: 'statewire',
      applicationVersion,
      logLevel: 'error',
      ...dbos,
      systemDatabaseUrl: databaseUrl,
      executorID: worker,
      listenQueues: isWorker ? known.names.map(queueOf) : [],
    })
    // Two processes that make the tables of DBOS at the same time get in each other's way.
    await database.exclusively(lock.launch, () => sdk.DBOS.launch())
    if (isWorker) {
      for (const agent of known.names)
        await sdk.DBOS.registerQueue(queueOf(agent), { workerConcurrency: concurrency, minPollingIntervalMs })
      sweep.start()
      alarm.start()
    }
    const runs = new PostgresRuns(service, { worker, close })
    setView(runs, postgresView(service, isWorker))
    environmentInspector()?.show(runs)
    return runs
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
