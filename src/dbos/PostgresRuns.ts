import type { AgentCommand } from '../../machines/agent/events.ts'
import { RunOver } from '../durable/commands.ts'
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
  digestOf,
  drainOf,
  isDate,
  isStatus,
  promptText,
  unknownRun,
} from '../durable/runOptions.ts'
import {
  type Delivery,
  type DurableChat,
  type DurableRun,
  endStatuses,
  type RunInfo,
  type RunsHealth,
  type StartOptions,
  type StoredRuns,
  type WakeOptions,
} from '../durable/runs.ts'
import { StoredChat } from '../durable/StoredChat.ts'
import { listedTasks } from '../durable/tasks.ts'
import { ConfigurationError, describeThrown } from '../messages/errors.ts'
import { copyJson } from '../messages/json.ts'
import { messageRule } from '../messages/messageFlaw.ts'
import type { Part } from '../messages/messages.ts'
import {
  checkOptions,
  checkSome,
  checkValue,
  flag,
  listOf,
  type Rule,
  rule,
} from '../messages/optionRules.ts'
import { newId } from '../model/newId.ts'
import { compileSchema, type Infer, type Schema } from '../tools/schema.ts'
import { dbosChats } from './dbosChats.ts'
import { PostgresRun } from './PostgresRun.ts'
import { findTask, PostgresTask, rootOf, tasksOf } from './PostgresTask.ts'
import type { ListOptions } from './RunRows.ts'
import { type Service, workflowOf } from './Service.ts'
import { forkStart } from './storedConversation.ts'
import type { NewRun, RunRow } from './tables.ts'

const isPrompt = rule(
  'a string or a list of parts',
  (value) => typeof value === 'string' || Array.isArray(value),
)
const isStorable: Rule = (name, value) => {
  try {
    copyJson(value)
    return undefined
  } catch (thrown) {
    return `${name} must be JSON, because it is stored: it holds ${describeThrown(thrown)}.`
  }
}

/** The worker of this process, and how it is closed. */
type Worker = { worker: string; close(drainMs: number): Promise<void> }

/** The runs of a Postgres database, on DBOS. */
export class PostgresRuns implements StoredRuns {
  readonly #service: Service
  readonly #worker: Worker
  #closed: Promise<void> | undefined

  constructor(service: Service, worker: Worker) {
    this.#service = service
    this.#worker = worker
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
    this.#service.checkOpen()
    if (this.#service.isGuest)
      throw new ConfigurationError('These runs were opened without agents: nothing can be started here.')
    this.#service.agents.get(agent)
    checkValue('The prompt', prompt, isPrompt)
    checkStart(prompt, options)
    checkSome('The options of a run', options, { history: listOf(messageRule), context: isStorable })
    const { id = newId(), history, context, system, limits, tags, metadata, schema } = options
    checkId(id)
    const compiled = schema && compileSchema(schema, 'The output schema')
    const answer = compiled?.jsonSchema
    const own = {
      ...(history && { history }),
      ...(system !== undefined && { system }),
      ...(limits && { limits }),
    }
    const input = { prompt, id, ...own }
    checkValue('The prompt', input, isStorable)
    const request = digestOf([agent, prompt, own, context ?? null, answer ?? null])
    const run = await this.#begin({
      id,
      agent,
      from: { input },
      context,
      prompt: promptText(prompt).replaceAll('\0', ''),
      request,
      answer,
      metadata,
      tags,
    })
    return compiled ? run.typed(compiled) : run
  }

  async get(id: string): Promise<DurableRun | undefined> {
    this.#service.checkOpen()
    checkKnownId(id)
    const row = await this.#service.rows.find(id)
    if (row) return PostgresRun.of(this.#service, row)
    const found = await findTask(this.#service, id)
    return found && new PostgresTask(this.#service, found.task.info)
  }

  async list(options: ListOptions = {}): Promise<RunInfo[]> {
    this.#service.checkOpen()
    checkList(options)
    const { rows } = this.#service
    const { parent, ...filter } = options
    if (parent === undefined) return await rows.infosOf(await rows.list(filter))
    const run = await rootOf(this.#service, parent)
    const tasks = run ? await tasksOf(this.#service, run) : []
    if (run?.id !== parent && !tasks.some(({ info }) => info.id === parent)) throw unknownRun(parent)
    return listedTasks(tasks, { ...options, parent })
  }

  async send(id: string, command: AgentCommand, options?: { commandId?: string }): Promise<Delivery> {
    this.#service.checkOpen()
    checkKnownId(id)
    try {
      const { root, ...task } = await this.#placeOf(id)
      const taken = { commandId: commandIdOf(options), ...task }
      const due = await this.#service.commands.enqueue(root, command, taken)
      if (due) await this.#service.startSegment(due.id, due.segment, due.agent)
      // A worker takes it, here or elsewhere.
      return 'queued'
    } catch (thrown) {
      if (thrown instanceof RunOver && Object(command).type === 'message') return 'refused'
      throw thrown
    }
  }

  async fork(
    id: string,
    options: { atStep?: number; agent?: string; id?: string } = {},
  ): Promise<DurableRun> {
    this.#service.checkOpen()
    checkId(id)
    checkFork(options)
    const origin = await this.#known(id)
    const { atStep, agent = origin.agent, id: ownId = newId() } = options
    checkId(ownId)
    // Without agents of its own, this process leaves it to those that have them.
    if (!this.#service.isGuest) this.#service.agents.get(agent)
    const from = await forkStart(this.#service, origin, ownId, atStep)
    const shared = await this.#service.rows.sharedOf(id)
    return await this.#begin({ ...shared, id: ownId, agent, from, prompt: origin.prompt, forkedFrom: id })
  }

  async wake(id: string, options: WakeOptions): Promise<void> {
    this.#service.checkOpen()
    checkKnownId(id)
    checkWake(options)
    const { at, message, commandId } = options
    const command = { type: 'wake' as const, ...(message !== undefined && { message }) }
    const { root, ...task } = await this.#placeOf(id)
    const taken = { commandId, due: at.getTime(), ...task }
    const due = await this.#service.commands.enqueue(root, command, taken)
    if (due) await this.#service.startSegment(due.id, due.segment, due.agent)
  }

  /** The stored run that has the commands of a run, or of a task of it. */
  async #placeOf(id: string): Promise<{ root: string; task?: string }> {
    const run = await rootOf(this.#service, id)
    return run && run.id !== id ? { root: run.id, task: id } : { root: id }
  }

  /** Finds a run. A task is stored with its run. */
  async #known(id: string): Promise<RunRow> {
    const row = await this.#service.rows.find(id)
    if (row) return row
    const isTask = (await findTask(this.#service, id)) !== undefined
    throw isTask ? new ConfigurationError(`"${id}" is a task, which is stored with its run.`) : unknownRun(id)
  }

  async chat(id: string, options: { agent?: string } = {}): Promise<DurableChat> {
    this.#service.checkOpen()
    checkId(id)
    checkChat(options)
    return await StoredChat.open(
      dbosChats(this.#service, (run) => this.#tryBegin(run)),
      id,
      options.agent,
    )
  }

  async backup(): Promise<void> {
    throw new ConfigurationError(
      'These runs are in Postgres: back the database up with its own tools, such as pg_dump or point-in-time recovery.',
    )
  }

  async prune(options: Parameters<StoredRuns['prune']>[0]): Promise<number> {
    this.#service.checkOpen()
    checkOptions<typeof options>('The options of prune', options, {
      olderThan: isDate,
      status: isStatus,
      chats: flag,
    })
    checkValue('olderThan', options.olderThan, isDate)
    const { olderThan, status, chats = false } = options
    const gone = await this.#service.rows.prune(olderThan, status ? [status] : endStatuses, chats)
    await this.#deleteWorkflows(gone)
    return gone.length
  }

  async delete(id: string): Promise<boolean> {
    this.#service.checkOpen()
    checkId(id)
    const gone = await this.#service.rows.delete(id)
    if (gone) {
      const { sdk, outside } = this.#service
      // A segment that is under way is cancelled first: its worker must not write any more.
      await outside(() => sdk.DBOS.cancelWorkflow(workflowOf(id, gone.segment))).catch(() => {})
      await this.#deleteWorkflows([{ id, ...gone }])
    }
    return gone !== undefined
  }

  async health(): Promise<RunsHealth> {
    this.#service.checkOpen()
    const { worker } = this.#worker
    const { workers, ...counts } = await this.#service.rows.health()
    const owner = workers.includes(worker) ? 'this' : workers.length > 0 ? 'other' : 'none'
    return { owner, hosted: this.#service.segments, ...counts }
  }

  close(options?: { drain?: number }): Promise<void> {
    const drainMs = drainOf(options)
    this.#closed ??= this.#worker.close(drainMs)
    return this.#closed
  }

  async #deleteWorkflows(gone: readonly { id: string; segment: number }[]): Promise<void> {
    const workflows = gone.flatMap(({ id, segment }) =>
      Array.from({ length: segment }, (_, index) => workflowOf(id, index + 1)),
    )
    const { sdk, outside } = this.#service
    if (workflows.length > 0) await outside(() => sdk.DBOS.deleteWorkflows(workflows))
  }

  async #begin(run: NewRun): Promise<PostgresRun> {
    const begun = await this.#tryBegin(run)
    // Someone has deleted it meanwhile.
    if (!begun) throw unknownRun(run.id)
    return begun
  }

  /** Stores a run, then puts it into the queue: should the process end in between, another one finds it. */
  async #tryBegin(run: NewRun): Promise<PostgresRun | undefined> {
    const row = await this.#service.rows.insert(run)
    if (!row) return undefined
    checkSameStart(row, { agent: run.agent, request: run.request })
    if (row.status === 'running' && row.segment === 1) await this.#service.startSegment(row.id, 1, row.agent)
    return PostgresRun.of(this.#service, row)
  }
}
