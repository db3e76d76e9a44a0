import { existsSync } from 'node:fs'
import type { AgentCommand } from '../../../machines/agent/events.ts'
import { openIn } from '../../../machines/tools/pendingCalls.ts'
import { ConfigurationError } from '../../messages/errors.ts'
import { copyJson, type JsonObject } from '../../messages/json.ts'
import type { Part } from '../../messages/messages.ts'
import { checkOptions, checkValue, flag, wholeFrom } from '../../messages/optionRules.ts'
import { newId } from '../../model/newId.ts'
import { compileSchema, type Infer, type Schema } from '../../tools/schema.ts'
import { conversationOf, forkedHistory, policyAfter, renameRun } from '../conversation.ts'
import {
  checkChat,
  checkFork,
  checkId,
  checkKnownId,
  checkList,
  checkSameStart,
  checkStart,
  checkWake,
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
  type Delivery,
  type DurableChat,
  type DurableRun,
  endStatuses,
  type RunInfo,
  type Runs,
  type RunsHealth,
  type StartOptions,
  type StoredRuns,
  type WakeOptions,
} from '../runs.ts'
import { StoredChat } from '../StoredChat.ts'
import { holdsDecisions } from '../snapshots.ts'
import { listedTasks } from '../tasks.ts'
import { deleteRun, pruneRuns } from './deleteRuns.ts'
import type { RunRequest } from './ownerOptions.ts'
import { extentOf, hostedFrom, pack } from './pack.ts'
import type { RunOwner } from './RunOwner.ts'
import type { RunRow, RunSummary } from './runRow.ts'
import { SqliteRun } from './SqliteRun.ts'
import { findTask, SqliteTask, tasksOf } from './SqliteTask.ts'
import { checkFolder, filePath } from './sqlite.ts'
import { sqliteChats } from './sqliteChats.ts'
import { whenFree } from './whenFree.ts'

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
    if (typeof agent === 'string') checkStart(prompt, options)
    const { id = newId(), history, context, system, limits, tags = [], metadata, schema } = options
    // A process without agents may ask for a run by its id; it has no agent to start a new one.
    if (this.#owner.isGuest && !(await whenFree(() => this.#summary(id))))
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
    checkKnownId(id)
    const { store } = this.#owner
    return whenFree(() => {
      const known = store.runs.summary(id)
      if (known) return SqliteRun.of(this.#owner, known)
      const found = findTask(store, id)
      return found && new SqliteTask(this.#owner, found.run, found.task.info)
    })
  }

  async list(options: Parameters<Runs['list']>[0] = {}): Promise<RunInfo[]> {
    checkList(options)
    const { parent, limit = usualLimit, before, ...filter } = options
    return whenFree(() => {
      if (parent !== undefined) return this.#tasksOf({ ...options, parent, limit })
      const newest = before === undefined ? Number.MAX_SAFE_INTEGER : this.#known(before).n
      return this.#owner.infosOf(this.#owner.store.runs.list(newest, limit, filter))
    })
  }

  async send(id: string, command: AgentCommand, options?: { commandId?: string }): Promise<Delivery> {
    checkKnownId(id)
    const commandId = commandIdOf(options)
    await outsideOfSteps
    return whenFree(() => this.#owner.send(id, command, commandId))
  }

  async wake(id: string, options: WakeOptions): Promise<void> {
    checkKnownId(id)
    checkWake(options)
    const { at, message, commandId } = options
    const command = { type: 'wake' as const, ...(message !== undefined && { message }) }
    await outsideOfSteps
    await whenFree(() => this.#owner.send(id, command, commandId, at.getTime()))
  }

  async fork(id: string, options: Parameters<Runs['fork']>[1] = {}): Promise<DurableRun> {
    checkFork(options)
    const { atStep, agent, id: ownId = newId() } = options
    checkId(ownId)
    await outsideOfSteps
    await whenFree(() => {
      const from = this.#owner.store.runs.byNumber(this.#known(id).n)
      if (this.#summary(ownId)) throw new ConfigurationError(`There is a run "${ownId}" already.`)
      if (from) forkRun(this.#owner, from, { id: ownId, agent: agent ?? from.agent, atStep })
    })
    return SqliteRun.of(this.#owner, await whenFree(() => this.#known(ownId)))
  }

  async prune(options: Parameters<StoredRuns['prune']>[0]): Promise<number> {
    checkOptions<typeof options>('The options of prune', options, {
      olderThan: isDate,
      status: isStatus,
      chats: flag,
    })
    const { olderThan, status, chats = false } = options
    checkValue('olderThan', olderThan, isDate)
    await outsideOfSteps
    return pruneRuns(this.#owner, olderThan.getTime(), status ? [status] : endStatuses, chats)
  }

  async chat(id: string, options: { agent?: string } = {}): Promise<DurableChat> {
    checkId(id)
    checkChat(options)
    return StoredChat.open(
      sqliteChats(this.#owner, (run) => this.#begin(run)),
      id,
      options.agent,
    )
  }

  async backup(path: string): Promise<void> {
    checkValue('The path of a backup', path, filePath)
    if (existsSync(path))
      throw new ConfigurationError(`"${path}" exists already: give the backup a new path.`)
    checkFolder(path)
    await outsideOfSteps
    await whenFree(() => this.#owner.store.file.copyTo(path))
  }

  async delete(id: string): Promise<boolean> {
    checkId(id)
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
    // It is stored: a file that is locked now must not make a caller start it again under another id.
    const known = await whenFree(() => this.#known(id))
    checkSameStart(known, run)
    return SqliteRun.of(this.#owner, known)
  }

  #tasksOf(options: Parameters<typeof listedTasks>[1]): RunInfo[] {
    const { parent } = options
    checkKnownId(parent)
    const { store } = this.#owner
    const run = store.runs.summary(parent) ?? findTask(store, parent)?.run
    const [info] = run ? this.#owner.infosOf([run]) : []
    if (!run || !info) throw unknownRun(parent)
    return listedTasks(tasksOf(store, run, info), options)
  }

  #summary(id: string): RunSummary | undefined {
    checkId(id)
    return this.#owner.store.runs.summary(id)
  }

  #known(id: string): RunSummary {
    const run = this.#summary(id)
    if (run) return run
    const isTask = findTask(this.#owner.store, id) !== undefined
    throw isTask ? new ConfigurationError(`"${id}" is a task, which is stored with its run.`) : unknownRun(id)
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
