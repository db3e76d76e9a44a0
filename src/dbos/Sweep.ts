import { errorDataOf, OrchestrationError } from '../messages/errors.ts'
import { queueOf, type Service, workflowName, workflowOf } from './Service.ts'
import { lock } from './tables.ts'

type SweepOptions = {
  /** The id of this worker, for DBOS and for the other workers. */
  worker: string
  /** Time after which a silent worker is taken for dead. */
  takeOverAfterMs: number
  maxRecoveries: number
}

/** A segment that runs nowhere. Its worker died, or left in good order. */
type Orphan = { workflow: string; run: string; segment: number; agent: string; wasReleased: boolean }

/**
 * Reports that this worker is alive, and takes over from those that are not. It goes by the current state, not by
 * events: a segment that DBOS reports as running, and whose worker is not alive, goes back to the queue.
 */
export class Sweep {
  readonly #service: Service
  readonly #options: SweepOptions
  #timer: NodeJS.Timeout | undefined
  #beatTimer: NodeJS.Timeout | undefined
  #sweeping: Promise<void> = Promise.resolve()

  constructor(service: Service, options: SweepOptions) {
    this.#service = service
    this.#options = options
  }

  /**
   * Reports that this worker is alive. Call it before DBOS is launched: a worker that has runs and is not registered as
   * alive would lose them.
   */
  async beat(): Promise<void> {
    await this.#service.database.query(
      `INSERT INTO statewire.workers (id, agents, beat_at) VALUES ($1, $2, clock_timestamp())
       ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at`,
      this.#options.worker,
      this.#service.agents.names,
    )
  }

  start(): void {
    const { takeOverAfterMs } = this.#options
    this.#beatTimer = setInterval(() => void this.beat().catch(() => {}), takeOverAfterMs / 5)
    const next = () => {
      this.#sweeping = this.#sweep()
        // The database may be away for a while.
        .catch(() => {})
        .then(() => {
          if (!this.#service.signal.aborted) this.#timer = setTimeout(next, takeOverAfterMs / 4)
        })
    }
    next()
  }

  async stop(): Promise<void> {
    clearInterval(this.#beatTimer)
    clearTimeout(this.#timer)
    await this.#sweeping
    clearTimeout(this.#timer)
  }

  /** Lets others take over what ran here. */
  async leave(): Promise<void> {
    await this.#service.database.query(
      'UPDATE statewire.workers SET left_at = clock_timestamp() WHERE id = $1',
      this.#options.worker,
    )
  }

  async #sweep(): Promise<void> {
    if ((await this.#orphans()).length > 0) await this.#takeOver()
    await this.#mend()
  }

  /** Finds the segments that run nowhere. */
  async #orphans(): Promise<Orphan[]> {
    const { sdk, agents, database, outside } = this.#service
    // Read first: a worker that has a segment by then was alive before.
    const pending = await outside(() =>
      sdk.DBOS.listWorkflows({
        status: 'PENDING',
        workflowName,
        queueName: agents.names.map(queueOf),
        loadOutput: false,
      }),
    )
    if (pending.length === 0) return []
    const known = await database.query(
      `SELECT id, left_at IS NOT NULL AS has_left, beat_at > clock_timestamp() - make_interval(secs => $1) AS is_fresh
       FROM statewire.workers`,
      this.#options.takeOverAfterMs / 1000,
    )
    const hasLeft = new Set(known.filter((worker) => worker.has_left === true).map(({ id }) => id))
    const isAlive = new Set(known.filter((worker) => worker.is_fresh === true).map(({ id }) => id))
    return pending.flatMap(({ workflowID, executorId, input = [] }) => {
      const [run, segment, agent] = input
      const wasReleased = hasLeft.has(executorId)
      if (isAlive.has(executorId) && !wasReleased) return []
      const names = { run: String(run), segment: Number(segment), agent: String(agent) }
      return [{ workflow: workflowID, wasReleased, ...names }]
    })
  }

  /** Takes over, one worker at a time: of two, the second would take a segment away from the worker that just got it. */
  #takeOver(): Promise<void> {
    const { sdk, rows, database, outside } = this.#service
    return database.transaction(async (query) => {
      const [got] = await query('SELECT pg_try_advisory_xact_lock($1) AS got', lock.sweep)
      if (got?.got !== true) return
      for (const { workflow, run, segment, agent, wasReleased } of await this.#orphans()) {
        const recoveries = wasReleased ? 0 : await rows.countRecovery(run)
        if (recoveries > this.#options.maxRecoveries) {
          await rows.abandon(run, segment, 'abandoned', tooOften(this.#options.maxRecoveries))
          await outside(() => sdk.DBOS.cancelWorkflow(workflow))
        } else await outside(() => sdk.DBOS.resumeWorkflow(workflow, { queueName: queueOf(agent) }))
      }
      await query("DELETE FROM statewire.workers WHERE beat_at < clock_timestamp() - interval '1 day'")
    })
  }

  /**
   * Brings the table of runs and DBOS back together: a process may die between the table and the queue, and people may
   * end workflows in the tools of DBOS.
   */
  async #mend(): Promise<void> {
    const { sdk, rows, agents, outside } = this.#service
    const quiet = await rows.quiet(agents.names, this.#options.takeOverAfterMs)
    if (quiet.length === 0) return
    const workflowIDs = quiet.map(({ id, segment }) => workflowOf(id, segment))
    const found = await outside(() => sdk.DBOS.listWorkflows({ workflowIDs, loadInput: false }))
    const byId = new Map(found.map((each) => [each.workflowID, each]))
    for (const { id, segment, agent, isBlocked } of quiet) {
      const workflow = byId.get(workflowOf(id, segment))
      if (!workflow) await this.#service.startSegment(id, segment, agent)
      else if (workflow.status === 'ERROR')
        await rows.abandon(id, segment, 'failed', errorDataOf(workflow.error))
      // An agent refused it; that of another worker may take it.
      else if (workflow.status === 'CANCELLED' && isBlocked)
        await outside(() => sdk.DBOS.resumeWorkflow(workflow.workflowID, { queueName: queueOf(agent) }))
      else if (workflow.status === 'CANCELLED' || workflow.status === 'MAX_RECOVERY_ATTEMPTS_EXCEEDED')
        await rows.abandon(id, segment, 'abandoned', ended(workflow.status))
    }
  }
}

const tooOften = (times: number) =>
  errorDataOf(
    new OrchestrationError(
      `The run was started again ${times} times and made no progress: its process ended each time (maxRecoveries). Fork it to try again.`,
    ),
  )

const ended = (status: string) =>
  errorDataOf(
    new OrchestrationError(`The workflow of the run was ended in DBOS (${status}). Fork it to continue.`),
  )
