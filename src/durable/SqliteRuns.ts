import type { AgentCommand } from '../../machines/agent/events.ts'
import { ConfigurationError } from '../messages/errors.ts'
import type { Part } from '../messages/messages.ts'
import { checkValue, rule, wholeFrom } from '../messages/optionRules.ts'
import { newId } from '../model/newId.ts'
import { ChatHandle } from './ChatHandle.ts'
import { forkRun } from './forkRun.ts'
import type { Beginning, Keeper } from './Keeper.ts'
import { pruneRuns } from './pruneRuns.ts'
import { RunHandle } from './RunHandle.ts'
import { checkId, contextJson, promptText } from './runInput.ts'
import type { DurableChat, DurableRun, RunInfo, Runs, StartOptions, StoredRuns } from './runs.ts'
import { infoOf, isStatus, type RunSummary } from './sqlite/RunRows.ts'

/** A page of a list. */
const usualLimit = 100

/** The runs of a file. */
export class SqliteRuns implements StoredRuns {
  readonly #keeper: Keeper

  constructor(keeper: Keeper) {
    this.#keeper = keeper
  }

  async start(agent: string, prompt: string | Part[], options: StartOptions = {}): Promise<DurableRun> {
    const { id = newId(), history, context } = options
    // A process without agents may ask for a run by its id; it has no agent to start a new one.
    if (this.#keeper.isGuest && !this.#summary(id))
      throw new ConfigurationError('These runs were opened without agents: nothing can be started here.')
    const input = { prompt, id, ...(history && { history }) }
    return this.#begin({ id, agent, prompt: promptText(prompt), input, context: contextJson(context) })
  }

  async get(id: string): Promise<DurableRun | undefined> {
    const known = this.#summary(id)
    return known && new RunHandle(this.#keeper, known)
  }

  async list(options: Parameters<Runs['list']>[0] = {}): Promise<RunInfo[]> {
    const { status, agent, limit = usualLimit, before } = options
    checkStatus(status)
    checkValue('limit', limit, wholeFrom(1))
    const newest = before === undefined ? Number.MAX_SAFE_INTEGER : this.#there(before).n
    const { runs } = this.#keeper.store
    return runs.list(newest, limit, status ?? null, agent ?? null).map(infoOf)
  }

  async send(id: string, command: AgentCommand): Promise<void> {
    await outsideOfSteps
    this.#keeper.send(id, command)
  }

  async fork(id: string, options: Parameters<Runs['fork']>[1] = {}): Promise<DurableRun> {
    const { atStep, agent, id: own = newId() } = options
    checkId(own)
    await outsideOfSteps
    const from = this.#keeper.store.runs.byNumber(this.#there(id).n)
    if (this.#summary(own)) throw new ConfigurationError(`There is a run "${own}" already.`)
    if (from) forkRun(this.#keeper, from, { id: own, agent: agent ?? from.agent, atStep })
    return new RunHandle(this.#keeper, this.#there(own))
  }

  async prune(options: Parameters<Runs['prune']>[0]): Promise<number> {
    const { olderThan, status } = options
    checkValue('olderThan', olderThan, date)
    checkStatus(status)
    await outsideOfSteps
    return pruneRuns(this.#keeper, olderThan.getTime(), status)
  }

  async chat(id: string, { agent }: { agent?: string } = {}): Promise<DurableChat> {
    checkId(id)
    return ChatHandle.open(this.#keeper, id, agent, (run) => this.#begin(run))
  }

  async close(): Promise<void> {
    await outsideOfSteps
    this.#keeper.close()
  }

  async #begin(run: Beginning): Promise<DurableRun> {
    const { id } = run
    checkId(id)
    await outsideOfSteps
    const known = this.#summary(id)
    if (known) return new RunHandle(this.#keeper, known)
    try {
      this.#keeper.begin(run)
    } catch (thrown) {
      // Another process may have started it meanwhile.
      if (!this.#summary(id)) throw thrown
    }
    return new RunHandle(this.#keeper, this.#there(id))
  }

  #summary(id: string): RunSummary | undefined {
    return this.#keeper.store.runs.summary(id)
  }

  #there(id: string): RunSummary {
    const run = this.#summary(id)
    if (!run) throw new ConfigurationError(`There is no run "${id}".`)
    return run
  }
}

/** A call from inside a step of a run, such as from a tool, must not be part of that step. */
const outsideOfSteps = Promise.resolve()

const date = rule('a date', (value) => value instanceof Date && !Number.isNaN(value.getTime()))

const checkStatus = (status: unknown): void => {
  if (status !== undefined && !isStatus(status))
    throw new ConfigurationError(`${JSON.stringify(status)} is not a status of runs.`)
}
