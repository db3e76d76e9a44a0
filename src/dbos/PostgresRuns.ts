import type { AgentCommand } from '../../machines/agent/events.ts'
import { checkId, promptText } from '../durable/runInput.ts'
import type { DurableRun, RunInfo, RunStatus, Runs, StartOptions } from '../durable/runs.ts'
import { ConfigurationError, describeThrown } from '../messages/errors.ts'
import { copyJson } from '../messages/json.ts'
import { messageRule } from '../messages/messageFlaw.ts'
import type { Part } from '../messages/messages.ts'
import {
  checkOptions,
  checkValue,
  listOf,
  oneOf,
  type Rule,
  rule,
  text,
  wholeFrom,
} from '../messages/optionRules.ts'
import { newId } from '../model/newId.ts'
import { DbosRun } from './DbosRun.ts'
import { forkStart } from './forkStart.ts'
import { workflowOf } from './legWorkflow.ts'
import type { ListOptions, NewRun } from './RunRows.ts'
import type { Service } from './Service.ts'

const over: readonly RunStatus[] = ['complete', 'failed', 'aborted', 'abandoned']

const isPrompt = rule(
  'a string or a list of parts',
  (value) => typeof value === 'string' || Array.isArray(value),
)
const isDate = rule('a date', (value) => value instanceof Date && !Number.isNaN(value.getTime()))
const isStorable: Rule = (name, value) => {
  try {
    copyJson(value)
    return undefined
  } catch (thrown) {
    return `${name} must be JSON, because it is stored: it holds ${describeThrown(thrown)}.`
  }
}
const isStatus = oneOf('running', 'waiting', ...over)

/** The runs of a Postgres database, on DBOS. */
export class PostgresRuns implements Runs {
  readonly #service: Service
  readonly #close: () => Promise<void>
  #closed: Promise<void> | undefined

  constructor(service: Service, close: () => Promise<void>) {
    this.#service = service
    this.#close = close
  }

  async start(agent: string, prompt: string | Part[], options: StartOptions = {}): Promise<DurableRun> {
    this.#check(agent)
    checkValue('The prompt', prompt, isPrompt)
    checkOptions<StartOptions>('The options of start', options, {
      id: text,
      history: listOf(messageRule),
      context: isStorable,
    })
    const { id = newId(), history, context } = options
    checkId(id)
    const input = { prompt, id, ...(history && { history }) }
    checkValue('The prompt', input, isStorable)
    return await this.#begin({
      id,
      agent,
      from: { input },
      context,
      prompt: promptText(prompt).replaceAll('\0', ''),
    })
  }

  async get(id: string): Promise<DurableRun | undefined> {
    this.#service.checkOpen()
    checkId(id)
    const row = await this.#service.rows.find(id)
    return row && new DbosRun(this.#service, row)
  }

  async list(options: ListOptions = {}): Promise<RunInfo[]> {
    this.#service.checkOpen()
    checkOptions<ListOptions>('The options of list', options, {
      status: isStatus,
      agent: text,
      limit: wholeFrom(1),
      before: text,
    })
    return (await this.#service.rows.list(options)).map(({ leg: _, ...info }) => info)
  }

  async send(id: string, command: AgentCommand): Promise<void> {
    this.#service.checkOpen()
    checkId(id)
    const due = await this.#service.rows.send(id, command)
    if (due) await this.#service.startLeg(id, due.leg, due.agent)
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
    const context = await this.#service.rows.contextOf(id)
    return await this.#begin({ id: ownId, agent, from, context, prompt: origin.prompt, forkedFrom: id })
  }

  async prune(options: { olderThan: Date; status?: RunStatus }): Promise<number> {
    this.#service.checkOpen()
    checkOptions<typeof options>('The options of prune', options, { olderThan: isDate, status: isStatus })
    checkValue('olderThan', options.olderThan, isDate)
    const { olderThan, status } = options
    const gone = await this.#service.rows.prune(olderThan, status ? [status] : over)
    const workflows = gone.flatMap(({ id, leg }) =>
      Array.from({ length: leg }, (_, index) => workflowOf(id, index + 1)),
    )
    const { sdk, outside } = this.#service
    if (workflows.length > 0) await outside(() => sdk.DBOS.deleteWorkflows(workflows))
    return gone.length
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  /** Stored first, then put into the queue: should the process end in between, another one finds it. */
  async #begin(run: NewRun): Promise<DurableRun> {
    const row = await this.#service.rows.insert(run)
    if (row.status === 'running' && row.leg === 1) await this.#service.startLeg(row.id, 1, row.agent)
    return new DbosRun(this.#service, row)
  }

  #check(agent: string): void {
    this.#service.checkOpen()
    const { agents } = this.#service
    if (agents.has(agent)) return
    const names = [...agents.keys()].join(', ')
    throw new ConfigurationError(`There is no agent "${String(agent)}" here; there are: ${names}.`)
  }
}
