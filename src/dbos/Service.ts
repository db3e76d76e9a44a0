import { AsyncLocalStorage } from 'node:async_hooks'
import { setMaxListeners } from 'node:events'
import type { AnyAgent } from '../agent/Agent.ts'
import type { RunInfo } from '../durable/runs.ts'
import { OrchestrationError } from '../messages/errors.ts'
import type { Database } from './Database.ts'
import { queueOf, workflowOf } from './legWorkflow.ts'
import type { Dbos } from './loadDbos.ts'
import { RunRows } from './RunRows.ts'

/** Makes what the tools get from what was stored with the run. */
export type ContextOf = (stored: unknown, info: RunInfo) => unknown

export type LegFunction = (run: string, leg: number, agent: string) => Promise<string>

/** What the parts of an open database of runs share. */
export class Service {
  readonly sdk: Dbos
  readonly agents: ReadonlyMap<string, AnyAgent>
  readonly database: Database
  readonly rows: RunRows
  readonly context: ContextOf | undefined
  /** A context outside of any workflow and step, for every caller. */
  readonly outside = AsyncLocalStorage.snapshot()
  readonly #leg: LegFunction
  readonly #closing = new AbortController()

  constructor(
    sdk: Dbos,
    database: Database,
    agents: ReadonlyMap<string, AnyAgent>,
    leg: LegFunction,
    context: ContextOf | undefined,
  ) {
    this.sdk = sdk
    this.database = database
    this.rows = new RunRows(database)
    this.agents = agents
    this.#leg = leg
    this.context = context
    // Every leg and every reader here listens to it.
    setMaxListeners(0, this.signal)
  }

  /** Aborted when the service is closed. */
  get signal(): AbortSignal {
    return this.#closing.signal
  }

  stop(): void {
    this.#closing.abort()
  }

  checkOpen(): void {
    if (this.signal.aborted)
      throw new OrchestrationError('These runs were closed: open them again with dbosRuns.')
  }

  /** Puts a leg into the queue of its agent, unless it is there already. */
  async startLeg(run: string, leg: number, agent: string): Promise<void> {
    const options = { workflowID: workflowOf(run, leg), queueName: queueOf(agent) }
    await this.outside(() => this.sdk.DBOS.startWorkflow(this.#leg, options)(run, leg, agent))
  }
}
