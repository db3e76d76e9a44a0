import type { AgentCommand } from '../../machines/agent/events.ts'
import type { HostedFrom } from '../agent/Agent.ts'
import { forkedHistory, messagesFrom, policyAfter, renameRun } from '../durable/conversation.ts'
import {
  checkId,
  checkList,
  checkSameStart,
  checkStart,
  commandIdOf,
  digestOf,
  drainOf,
  isDate,
  isStatus,
  promptText,
} from '../durable/runOptions.ts'
import {
  type DurableRun,
  endStatuses,
  type RunInfo,
  type RunStatus,
  type Runs,
  type RunsHealth,
  type StartOptions,
} from '../durable/runs.ts'
import { holdsDecisions } from '../durable/snapshots.ts'
import { describeThrown } from '../messages/errors.ts'
import { copyJson, isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'
import { messageRule } from '../messages/messageFlaw.ts'
import type { ChatMessage, Part } from '../messages/messages.ts'
import {
  checkOptions,
  checkSome,
  checkValue,
  listOf,
  type Rule,
  rule,
  text,
  wholeFrom,
} from '../messages/optionRules.ts'
import { newId } from '../model/newId.ts'
import { compileSchema, type Infer, type Schema } from '../tools/schema.ts'
import { PostgresRun, writtenChunks } from './PostgresRun.ts'
import type { ListOptions, NewRun } from './RunRows.ts'
import { type Service, workflowOf } from './Service.ts'
import { fromJson, infoOf, type RunRow } from './tables.ts'

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
type Worker = { worker: string; aliveMs: number; close(drainMs: number): Promise<void> }

/** The runs of a Postgres database, on DBOS. */
export class PostgresRuns implements Runs {
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
    this.#check(agent)
    checkValue('The prompt', prompt, isPrompt)
    checkStart(options)
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
    checkId(id)
    const row = await this.#service.rows.find(id)
    return row && PostgresRun.of(this.#service, row)
  }

  async list(options: ListOptions = {}): Promise<RunInfo[]> {
    this.#service.checkOpen()
    checkList(options)
    return (await this.#service.rows.list(options)).map(infoOf)
  }

  async send(id: string, command: AgentCommand, options?: { commandId?: string }): Promise<void> {
    this.#service.checkOpen()
    checkId(id)
    const due = await this.#service.rows.enqueueCommand(id, command, commandIdOf(options))
    if (due) await this.#service.startSegment(id, due.segment, due.agent)
  }

  async fork(
    id: string,
    options: { atStep?: number; agent?: string; id?: string } = {},
  ): Promise<DurableRun> {
    this.#service.checkOpen()
    checkId(id)
    checkOptions<typeof options>('The options of fork', options, {
      atStep: wholeFrom(1),
      agent: text,
      id: text,
    })
    const origin = await this.#service.rows.known(id)
    const { atStep, agent = origin.agent, id: ownId = newId() } = options
    checkId(ownId)
    this.#check(agent)
    const from = await forkStart(this.#service, origin, ownId, atStep)
    const shared = await this.#service.rows.sharedOf(id)
    return await this.#begin({ ...shared, id: ownId, agent, from, prompt: origin.prompt, forkedFrom: id })
  }

  async prune(options: { olderThan: Date; status?: RunStatus }): Promise<number> {
    this.#service.checkOpen()
    checkOptions<typeof options>('The options of prune', options, { olderThan: isDate, status: isStatus })
    checkValue('olderThan', options.olderThan, isDate)
    const { olderThan, status } = options
    const gone = await this.#service.rows.prune(olderThan, status ? [status] : endStatuses)
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
    const { worker, aliveMs } = this.#worker
    const { workers, ...counts } = await this.#service.rows.health(aliveMs)
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

  /** Stores a run, then puts it into the queue: should the process end in between, another one finds it. */
  async #begin(run: NewRun): Promise<PostgresRun> {
    const row = await this.#service.rows.insert(run)
    checkSameStart(row, { agent: run.agent, request: run.request })
    if (row.status === 'running' && row.segment === 1) await this.#service.startSegment(row.id, 1, row.agent)
    return PostgresRun.of(this.#service, row)
  }

  #check(agent: string): void {
    this.#service.checkOpen()
    this.#service.agents.get(agent)
  }
}

/**
 * Reads the beginning of a fork: the snapshot of a run that waits, under the new id; otherwise the conversation before
 * one of its model calls, which is asked again.
 */
const forkStart = async (
  service: Service,
  { id, status, segment }: RunRow,
  ownId: string,
  atStep: number | undefined,
): Promise<HostedFrom> => {
  const [row] = await service.database.query(
    'SELECT start, snapshot, result FROM statewire.runs WHERE id = $1',
    id,
  )
  const snapshot = fromJson(row?.snapshot)
  // A decision belongs to one run.
  if (atStep === undefined && status === 'waiting' && isJsonObject(snapshot) && !holdsDecisions(snapshot)) {
    const from: JsonObject = { snapshot }
    renameRun(from, id, ownId)
    return from as HostedFrom
  }
  const isRunning = status === 'running'
  const before = historyOf(fromJson(row?.start), isRunning)
  const added = isRunning ? await shown(service, id, segment) : messagesIn(fromJson(row?.result))
  const answers = added.filter(({ role }) => role === 'model').length
  const step = atStep ?? answers + (added.at(-1)?.role === 'user' ? 1 : 0)
  // The policy has seen what it has seen.
  const left = { ...(isJsonObject(snapshot) && snapshot), output: fromJson(row?.result) }
  const policy = {
    ...policyAfter(Object(fromJson(row?.start))),
    ...policyAfter({ snapshot: left }),
  }
  return { input: { history: forkedHistory(id, { before, added }, step), id: ownId, ...policy } }
}

/** Reads what a run that is under way has added: the messages in its stream. */
const shown = async (service: Service, id: string, segments: number): Promise<ChatMessage[]> => {
  const messages: ChatMessage[] = []
  for (let segment = 1; segment <= segments; segment += 1)
    for await (const chunk of writtenChunks(service, id, segment)) messages.push(...messagesIn(chunk))
  return messages
}

/** Reads the conversation that a run began with. A fork of a run that waited began with more than its history. */
const historyOf = (start: JsonValue | undefined, isWhole: boolean): ChatMessage[] => {
  const { input, snapshot } = isJsonObject(start) ? start : {}
  if (isJsonObject(input)) return messagesFrom(input.history)
  const context = isJsonObject(snapshot) ? snapshot.context : undefined
  if (!isJsonObject(context)) return []
  const added = messagesFrom(context.messages)
  if (Array.isArray(context.history)) {
    const history = messagesFrom(context.history)
    return isWhole ? history : history.slice(0, history.length - added.length)
  }
  const before = isJsonObject(context.input) ? messagesFrom(context.input.history) : []
  return isWhole ? [...before, ...added] : before
}

const messagesIn = (of: unknown): ChatMessage[] => messagesFrom(isJsonObject(of) ? of.messages : undefined)
