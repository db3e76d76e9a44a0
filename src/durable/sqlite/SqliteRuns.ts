import { existsSync } from 'node:fs'
import type { AgentCommand } from '../../../machines/agent/events.ts'
import { openIn } from '../../../machines/tools/pendingCalls.ts'
import { ConfigurationError } from '../../messages/errors.ts'
import { copyJson, type JsonObject } from '../../messages/json.ts'
import type { Part } from '../../messages/messages.ts'
import { checkValue, wholeFrom } from '../../messages/optionRules.ts'
import { newId } from '../../model/newId.ts'
import { compileSchema, type Infer, type Schema } from '../../tools/schema.ts'
import { conversationOf, forkedHistory, policyAfter, renameRun } from '../conversation.ts'
import {
  checkId,
  checkList,
  checkSameStart,
  checkStart,
  commandIdOf,
  contextJson,
  digestOf,
  drainOf,
  isDate,
  isStatus,
  promptText,
  unknownRun,
} from '../runOptions.ts'
import {
  type DurableChat,
  type DurableRun,
  endStatuses,
  type RunInfo,
  type Runs,
  type RunsHealth,
  type StartOptions,
  type StoredRuns,
} from '../runs.ts'
import { holdsDecisions } from '../snapshots.ts'
import { deleteRun, pruneRuns } from './deleteRuns.ts'
import type { RunRequest } from './ownerOptions.ts'
import { extentOf, hostedFrom, pack } from './pack.ts'
import type { RunOwner } from './RunOwner.ts'
import type { RunRow, RunSummary } from './runRow.ts'
import { SqliteChat } from './SqliteChat.ts'
import { whenFree } from './SqliteFile.ts'
import { SqliteRun } from './SqliteRun.ts'
import { filePath } from './sqlite.ts'

/** Runs on a page of a list. */
const usualLimit = 100

/** The runs of a file. */
export class SqliteRuns implements StoredRuns {
  readonly #owner: RunOwner

  constructor(owner: RunOwner) {
    this.#owner = owner
  }

  start<S extends Schema>(
    agent: string,
    prompt: string | Part[],
    options: StartOptions & { schema: S },
  ): Promise<DurableRun<Infer<S>>>
  start(agent: string, prompt: string | Part[], options?: StartOptions): Promise<DurableRun>
  async start(
    agent: string,
    prompt: string | Part[],
    options: StartOptions & { schema?: Schema } = {},
  ): Promise<DurableRun<unknown>> {
    checkStart(options)
    const { id = newId(), history, context, system, limits, tags = [], metadata, schema } = options
    // A process without agents may ask for a run by its id; it has no agent to start a new one.
    if (this.#owner.isGuest && !this.#summary(id))
      throw new ConfigurationError('These runs were opened without agents: nothing can be started here.')
    const compiled = schema && compileSchema(schema, 'The output schema')
    const own = {
      ...(history && { history }),
      ...(system !== undefined && { system }),
      ...(limits && { limits }),
    }
    const stored = contextJson(context)
    const answer = compiled?.jsonSchema
    const run = await this.#begin({
      id,
      agent,
      prompt: promptText(prompt),
      input: { prompt, id, ...own },
      context: stored,
      request: digestOf([agent, prompt, own, stored ?? null, answer ?? null]),
      answer,
      metadata: metadata && (copyJson(metadata) as JsonObject),
      tags,
      forkedFrom: undefined,
      base: undefined,
    })
    return compiled ? run.typed(compiled) : run
  }

  async get(id: string): Promise<DurableRun | undefined> {
    const known = this.#summary(id)
    return known && SqliteRun.of(this.#owner, known)
  }

  async list(options: Parameters<Runs['list']>[0] = {}): Promise<RunInfo[]> {
    checkList(options)
    const { limit = usualLimit, before, ...filter } = options
    const newest = before === undefined ? Number.MAX_SAFE_INTEGER : this.#known(before).n
    return this.#owner.infosOf(this.#owner.store.runs.list(newest, limit, filter))
  }

  async send(id: string, command: AgentCommand, options?: { commandId?: string }): Promise<void> {
    const commandId = commandIdOf(options)
    await outsideOfSteps
    await whenFree(() => this.#owner.send(id, command, commandId))
  }

  async fork(id: string, options: Parameters<Runs['fork']>[1] = {}): Promise<DurableRun> {
    const { atStep, agent, id: ownId = newId() } = options
    checkId(ownId)
    await outsideOfSteps
    await whenFree(() => {
      const from = this.#owner.store.runs.byNumber(this.#known(id).n)
      if (this.#summary(ownId)) throw new ConfigurationError(`There is a run "${ownId}" already.`)
      if (from) forkRun(this.#owner, from, { id: ownId, agent: agent ?? from.agent, atStep })
    })
    return SqliteRun.of(this.#owner, this.#known(ownId))
  }

  async prune(options: Parameters<Runs['prune']>[0]): Promise<number> {
    const { olderThan, status } = options
    checkValue('olderThan', olderThan, isDate)
    if (status !== undefined) checkValue('status', status, isStatus)
    await outsideOfSteps
    return pruneRuns(this.#owner, olderThan.getTime(), status ? [status] : endStatuses)
  }

  async chat(id: string, { agent }: { agent?: string } = {}): Promise<DurableChat> {
    checkId(id)
    return SqliteChat.open(this.#owner, id, agent, (run) => this.#begin(run))
  }

  async backup(path: string): Promise<void> {
    checkValue('The path of a backup', path, filePath)
    if (existsSync(path))
      throw new ConfigurationError(`"${path}" exists already: give the backup a new path.`)
    await outsideOfSteps
    await whenFree(() => this.#owner.store.file.copyTo(path))
  }

  async delete(id: string): Promise<boolean> {
    await outsideOfSteps
    return whenFree(() => deleteRun(this.#owner, id))
  }

  async health(): Promise<RunsHealth> {
    return this.#owner.health()
  }

  async close(options?: { drain?: number }): Promise<void> {
    const drainMs = drainOf(options)
    await outsideOfSteps
    await this.#owner.close(drainMs)
  }

  async #begin(run: RunRequest): Promise<SqliteRun> {
    const { id } = run
    checkId(id)
    await outsideOfSteps
    await whenFree(() => {
      if (this.#summary(id)) return
      try {
        this.#owner.begin(run)
      } catch (thrown) {
        // Another process may have started it meanwhile.
        if (!this.#summary(id)) throw thrown
      }
    })
    const known = this.#known(id)
    checkSameStart(known, run)
    return SqliteRun.of(this.#owner, known)
  }

  #summary(id: string): RunSummary | undefined {
    return this.#owner.store.runs.summary(id)
  }

  #known(id: string): RunSummary {
    const run = this.#summary(id)
    if (!run) throw unknownRun(id)
    return run
  }
}

/** A tick to wait for: a call from inside a step of a run, such as from a tool, must not be part of that step. */
const outsideOfSteps = Promise.resolve()

type Fork = { id: string; agent: string; atStep: number | undefined }

/** Stores a run that continues from another one. It shares the other's messages: nothing is copied. */
const forkRun = (owner: RunOwner, origin: RunRow, { id, agent, atStep }: Fork): void => {
  const { store } = owner
  const items = store.items.load(origin.n, origin.base)
  const from = hostedFrom(origin.packedSnapshot, items)
  const context: string | undefined = JSON.stringify(store.runs.context(origin.n))
  const { prompt, answer, metadata, tags } = origin
  const shared = { id, agent, context, prompt, answer, metadata, tags }
  const taken = { ...shared, request: undefined, forkedFrom: origin.id }
  // A decision belongs to one run, and a call that runs there does not run here.
  const isUnderWay = 'input' in from || (from.snapshot.status === 'active' && !holdsDecisions(from.snapshot))
  if (atStep === undefined && isUnderWay) {
    renameRun(from, origin.id, id)
    const packedSnapshot = pack(from, items)
    owner.adopt({
      ...origin,
      ...taken,
      status: origin.status === 'waiting' ? 'waiting' : 'running',
      isUnsettled: true,
      recoveries: 0,
      hidden: 0,
      error: undefined,
      pending: 'snapshot' in from ? openIn(from.snapshot) : [],
      packedSnapshot,
      base: { run: origin.n, counts: extentOf(packedSnapshot) },
    })
    return
  }
  const conversation = conversationOf(from)
  const answers = conversation.added.filter(({ role }) => role === 'model').length
  const step = atStep ?? Math.max(1, answers)
  checkValue('atStep', step, wholeFrom(1))
  const input = { history: forkedHistory(origin.id, conversation, step), id, ...policyAfter(from) }
  owner.begin({ ...taken, input, base: { run: origin.n, counts: extentOf(pack({ input }, items)) } })
}
