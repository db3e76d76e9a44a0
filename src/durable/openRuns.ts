import type { AgentCommand } from '../../machines/events.ts'
import type { AnyAgent } from '../agent/Agent.ts'
import { ConfigurationError, describeThrown } from '../messages/errors.ts'
import { copyJson } from '../messages/json.ts'
import type { Part } from '../messages/messages.ts'
import {
  callable,
  checkOptions,
  checkValue,
  having,
  member,
  object,
  type Rule,
  wholeFrom,
} from '../messages/optionRules.ts'
import { newId } from '../model/newId.ts'
import { Items } from './Items.ts'
import { Keeper } from './Keeper.ts'
import { infoOf, isStatus, type RunSummary } from './RunRows.ts'
import { checkId, promptText } from './runInput.ts'
import type { DurableResult, DurableRun, RunInfo, Runs, StartOptions } from './runs.ts'
import { readStream } from './StreamReader.ts'
import { openStore, type RunStore } from './sqlite.ts'
import { storedOutcome } from './storedOutcome.ts'
import { setKeeper } from './storeView.ts'

/** What runs are opened with. */
export type OpenOptions = {
  /** Where they are kept: see {@link sqlite}. */
  store: RunStore
  /**
   * Who may run, by name. The names are stored. Without agents, this process is a guest: it lists, reads and streams,
   * leaves commands and forks for whoever runs things, and never runs anything itself.
   */
  agents?: Readonly<Record<string, AnyAgent>>
  /** How often a run is taken up without getting any further before it is given up; default 20. */
  maxRecoveries?: number
  /** Makes what the tools get as `context` from what was stored with the run: connections, for example. */
  context?: (stored: unknown, info: RunInfo) => unknown
}

/**
 * Opens a store of runs, and goes on with those that a process left behind.
 *
 * @example
 * const runs = await openRuns({ store: sqlite('runs.db'), agents: { janitor } })
 * const run = await runs.start('janitor', 'Delete notes.txt', { id: 'job-7' })
 * for await (const { cursor, chunk } of run.stream()) console.log(cursor, chunk.output)
 */
export const openRuns = async (options: OpenOptions): Promise<Runs> => {
  checkOptions<OpenOptions>('The options of openRuns', options, {
    store: object,
    agents: agentsRule,
    maxRecoveries: wholeFrom(0),
    context: callable,
  })
  checkValue('The options of openRuns', options, member('store', object))
  const { store, agents, maxRecoveries = 20, context = (stored) => stored } = options
  const keeper = new Keeper(await openStore(store), { agents, maxRecoveries, context })
  const runs = new StoredRunsOf(keeper)
  setKeeper(runs, keeper)
  return runs
}

const agentsRule: Rule = (name, value) =>
  object(name, value) ??
  Object.entries(Object(value))
    .map(([key, agent]) => having('send', 'sendStream')(`${name}.${key}`, agent))
    .find((problem) => problem !== undefined)

/** A page of a list. */
const usualLimit = 100

class StoredRunsOf implements Runs {
  readonly #keeper: Keeper

  constructor(keeper: Keeper) {
    this.#keeper = keeper
  }

  async start(agent: string, prompt: string | Part[], options: StartOptions = {}): Promise<DurableRun> {
    const { id = newId(), history, context } = options
    checkId(id)
    // Whoever calls this from inside a step of a run must not be part of it.
    await null
    const known = this.#summary(id)
    if (known) return this.#handle(known)
    if (this.#keeper.isGuest)
      throw new ConfigurationError('These runs were opened without agents: nothing can be started here.')
    try {
      this.#keeper.begin({
        id,
        agent,
        prompt: promptText(prompt),
        from: { input: { prompt, id, ...(history && { history }) } },
        context: contextJson(context),
        items: new Items(),
        base: undefined,
        forkedFrom: undefined,
      })
    } catch (thrown) {
      // Another process may have started it meanwhile.
      if (!this.#summary(id)) throw thrown
    }
    return this.#handle(this.#there(id))
  }

  async get(id: string): Promise<DurableRun | undefined> {
    const known = this.#summary(id)
    return known && this.#handle(known)
  }

  async list(options: Parameters<Runs['list']>[0] = {}): Promise<RunInfo[]> {
    const { status, agent, limit = usualLimit, before } = options
    if (status !== undefined && !isStatus(status))
      throw new ConfigurationError(`${JSON.stringify(status)} is not a status of runs.`)
    checkValue('limit', limit, wholeFrom(1))
    const newest = before === undefined ? Number.MAX_SAFE_INTEGER : this.#there(before).n
    const { runs } = this.#keeper.store
    return runs.list(newest, limit, status ?? null, agent ?? null).map(infoOf)
  }

  async send(id: string, command: AgentCommand): Promise<void> {
    await null
    this.#keeper.send(id, command)
  }

  async fork(): Promise<DurableRun> {
    throw new ConfigurationError('Not yet.')
  }

  async prune(): Promise<number> {
    throw new ConfigurationError('Not yet.')
  }

  async close(): Promise<void> {
    await null
    this.#keeper.close()
  }

  #summary(id: string): RunSummary | undefined {
    return this.#keeper.store.runs.summary(id)
  }

  #there(id: string): RunSummary {
    const run = this.#summary(id)
    if (!run) throw new ConfigurationError(`There is no run "${id}".`)
    return run
  }

  #handle(run: RunSummary): DurableRun {
    const keeper = this.#keeper
    const info = async () => infoOf(this.#there(run.id))
    const result = () => resultOf(keeper, run)
    return {
      id: run.id,
      agent: run.agent,
      info,
      get result() {
        return result()
      },
      stream: (options) => readStream(keeper, run, options),
    }
  }
}

/** What a run comes to, once it stands still. */
const resultOf = async (keeper: Keeper, { n, id }: RunSummary): Promise<DurableResult> => {
  for (;;) {
    const { runs, commands } = keeper.store
    const now = runs.summary(id)
    if (now?.n !== n) throw new ConfigurationError(`The run "${id}" has been deleted.`)
    // A run that somebody has decided on is about to go on.
    const isStill =
      now.status === 'waiting' ? !now.live && commands.of(n).length === 0 : now.status !== 'running'
    const row = isStill ? runs.byNumber(n) : undefined
    if (row) return storedOutcome(keeper.store, row)
    const reason = keeper.whyNot(now)
    if (reason) throw reason
    await keeper.stands.next(n)
  }
}

const contextJson = (context: unknown): string | undefined => {
  if (context === undefined) return undefined
  try {
    return JSON.stringify(copyJson(context))
  } catch (cause) {
    throw new ConfigurationError(
      `The context of a stored run must be JSON: it holds ${describeThrown(cause)}. Make what cannot be stored in openRuns({ context }).`,
      { cause },
    )
  }
}
