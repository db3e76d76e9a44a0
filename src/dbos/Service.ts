import { AsyncLocalStorage } from 'node:async_hooks'
import { setMaxListeners } from 'node:events'
import { agentInternals } from '../agent/AgentInternals.ts'
import type { ReplayEngine } from '../durable/replay/engine.ts'
import { replaySegment } from '../durable/replay/replaySegment.ts'
import { intentSuffix } from '../durable/replay/replaySteps.ts'
import type { Agents } from '../durable/runOptions.ts'
import type { RunInfo } from '../durable/runs.ts'
import { type ErrorData, errorDataOf, OrchestrationError } from '../messages/errors.ts'
import { CommandRows } from './CommandRows.ts'
import type { Database, Dbos } from './Database.ts'
import { dbosJournal, isSuperseded } from './dbosJournal.ts'
import { RunRows } from './RunRows.ts'
import { infoOf } from './tables.ts'

/** Makes the `context` of the tools from what was stored with the run. */
type ContextOf = (stored: unknown, info: RunInfo) => unknown

/** The workflow function that DBOS has registered. */
export type SegmentFunction = (run: string, segment: number, agent: string) => Promise<string>

/** An open database of runs: everything that its parts share. */
export class Service {
  readonly sdk: Dbos
  readonly agents: Agents
  readonly database: Database
  readonly rows: RunRows
  readonly commands: CommandRows
  readonly context: ContextOf | undefined
  /** An async context outside of any workflow and step, for every caller. */
  readonly outside = AsyncLocalStorage.snapshot()
  readonly #segment: SegmentFunction
  readonly #closing = new AbortController()
  /** Segments under way here. */
  #segments = 0
  /** Calls of tools that are running here, by the step that records each. */
  readonly #calls = new Set<string>()
  #isDraining = false
  #onDrained = () => {}

  constructor(
    sdk: Dbos,
    database: Database,
    agents: Agents,
    segment: SegmentFunction,
    context: ContextOf | undefined,
    takeOverAfterMs: number,
  ) {
    this.sdk = sdk
    this.database = database
    this.rows = new RunRows(database, takeOverAfterMs)
    this.commands = new CommandRows(database)
    this.agents = agents
    this.#segment = segment
    this.context = context
    // Every segment and every reader here listens to it.
    setMaxListeners(0, this.signal)
  }

  /** Says whether this process has no agents, and so never runs any. */
  get isGuest(): boolean {
    return this.agents.names.length === 0
  }

  /** Aborted when the service is closed. */
  get signal(): AbortSignal {
    return this.#closing.signal
  }

  stop(): void {
    this.#closing.abort()
  }

  /** The number of segments that are under way here. */
  get segments(): number {
    return this.#segments
  }

  /** Begins no more steps, and gives the tools that are running some time to end. */
  async drain(ms: number): Promise<void> {
    this.#isDraining = true
    if (ms === 0 || this.#calls.size === 0) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#onDrained = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  async counted<T>(segment: () => Promise<T>): Promise<T> {
    this.#segments += 1
    try {
      return await segment()
    } finally {
      this.#segments -= 1
    }
  }

  /**
   * Runs a step, unless the service is about to be closed: then it never begins. A call of a tool is two steps: its
   * intent, and the call itself, which a worker that stops in good order lets end.
   */
  async step<T>(workflow: string, name: string, run: () => Promise<T>): Promise<T> {
    const place = `${workflow} ${name}`
    const isCall = this.#calls.has(place)
    if (this.#isDraining && !isCall) return await new Promise<never>(() => {})
    if (name.endsWith(intentSuffix)) this.#calls.add(place.slice(0, -intentSuffix.length))
    try {
      return await run()
    } finally {
      if (isCall) this.#calls.delete(place)
      if (this.#isDraining && this.#calls.size === 0) this.#onDrained()
    }
  }

  checkOpen(): void {
    if (this.signal.aborted)
      throw new OrchestrationError('These runs were closed: open them again with dbosRuns.')
  }

  /** Puts a segment into the queue of its agent, unless it is there already. */
  async startSegment(run: string, segment: number, agent: string): Promise<void> {
    const options = { workflowID: workflowOf(run, segment), queueName: queueOf(agent) }
    await this.outside(() => this.sdk.DBOS.startWorkflow(this.#segment, options)(run, segment, agent))
  }
}

/** The id of a segment's workflow: that of the run, with the number of the segment, so that it is unique. */
export const workflowOf = (run: string, segment: number): string => `${run}#${segment}`

/** The queue of an agent. Each agent has one, so a worker that does not know an agent leaves its runs to others. */
export const queueOf = (agent: string): string => `statewire.${agent}`

/** The name of the workflow, as DBOS stores it. */
export const workflowName = 'statewire.run'

/** Runs a segment: the body of the workflow. The table of runs gets its end, beside the journal of DBOS. */
export const runSegment = async (
  service: Service,
  run: string,
  segment: number,
  name: string,
): Promise<string> => {
  try {
    return await service.counted(() => replayed(service, run, segment, name))
  } catch (thrown) {
    const { sdk, rows } = service
    // Should even that fail, the sweep finds it.
    if (!isSuperseded(sdk, thrown))
      await rows.abandon(run, segment, 'failed', errorDataOf(thrown)).catch(() => {})
    throw thrown
  }
}

/**
 * Leaves a run alone that the agent of this worker refuses: another release, or the agent of before, may take it. The sweep
 * tries it again after a while.
 */
const leaveAlone = async (
  { sdk, commands, outside }: Service,
  run: string,
  segment: number,
  error: ErrorData,
): Promise<never> => {
  const workflow = workflowOf(run, segment)
  await commands.block(run, segment, error)
  await outside(() => sdk.DBOS.cancelWorkflow(workflow))
  throw new sdk.Error.DBOSWorkflowCancelledError(workflow)
}

const replayed = async (service: Service, run: string, segment: number, name: string): Promise<string> => {
  const { sdk, rows, commands, database, outside, signal, context: contextOf } = service
  const agent = service.agents.get(name)
  // Closing the service leaves its runs as they are: a step that is cut off now must not be recorded as an end.
  const held = <T>(work: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      work.then(
        (value) => signal.aborted || resolve(value),
        (error) => signal.aborted || reject(error),
      )
    })
  const insist = <T>(work: () => Promise<T>): Promise<T> => held(database.insist(work, signal))
  const journal = await held(dbosJournal(sdk, workflowOf(run, segment), outside))
  const engine: ReplayEngine = {
    step: (step, work) =>
      held(service.step(workflowOf(run, segment), step, () => journal.step(step, () => held(work())))),
    write: (chunks, isLive) => held(journal.write(chunks, isLive)),
    commands: (after, isEnd) =>
      insist(() => (isEnd ? commands.last(run, after) : commands.after(run, after))),
  }
  const info = infoOf(await insist(() => rows.known(run)))
  const { hasBackground } = agentInternals(agent)
  // One after the other: a row must not end with an earlier state.
  let noted: Promise<unknown> = Promise.resolve()
  const note = (snapshot: unknown, seen: number) => {
    const family = hasBackground ? { run: info, seen } : undefined
    noted = noted.then(() => rows.progress(run, segment, snapshot, family)).catch(() => {})
  }
  const end = await held(
    replaySegment(agent, engine, () => insist(() => rows.startOf(run, segment)), {
      ...(contextOf && { context: (stored) => contextOf(stored, info) }),
      signal,
      store: database.place,
      onStep: note,
    }),
  )
  await held(noted)
  if (end.status === 'abandoned') return await leaveAlone(service, run, segment, end.error)
  const next = await engine.step('settle', () => insist(() => rows.settle(run, segment, end)))
  if (next !== null) await held(outside(() => service.startSegment(run, next, name)))
  return end.status
}
