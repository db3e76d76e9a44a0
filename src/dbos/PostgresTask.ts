import { taskTextIn } from '../../machines/tasks/tasks.ts'
import { unknownRun } from '../durable/runOptions.ts'
import { type DurableResult, type DurableRun, endStatuses, type RunInfo } from '../durable/runs.ts'
import { isTaskMessage, type StoredTask, taskResult, unstreamed } from '../durable/tasks.ts'
import { OrchestrationError } from '../messages/errors.ts'
import { pause } from './Database.ts'
import type { Service } from './Service.ts'
import { storedConversation } from './storedConversation.ts'
import { infoOf, type RunRow } from './tables.ts'
import { tasksFrom } from './taskList.ts'

/** Time between two looks for the end of a task. */
const lookMs = 100

/** The stored run that a task belongs to, and the task. `isAboutTo`: there are commands that this run has not seen yet. */
type Found = { run: RunRow; task: StoredTask; isAboutTo: boolean }

/** Finds the run that an id names, or the run of the task that it names: the id of a task begins with that of its run. */
export const rootOf = async (service: Service, id: string): Promise<RunRow | undefined> => {
  for (let end = id.length; end > 0; end = id.lastIndexOf('/', end - 1)) {
    const run = await service.rows.find(id.slice(0, end))
    if (run) return run
  }
  return undefined
}

/** Reads the tasks of a run, and those below them, each after the one that started it. */
export const tasksOf = async (service: Service, run: RunRow): Promise<StoredTask[]> =>
  (await readTasks(service, run)).tasks

const readTasks = async ({ database, rows }: Service, run: RunRow) => {
  const [row] = await database.query(
    'SELECT tasks, sent > seen AS is_behind FROM statewire.runs WHERE id = $1',
    run.id,
  )
  const [info = infoOf(run)] = typeof row?.tasks === 'string' ? await rows.infosOf([run]) : []
  return { tasks: tasksFrom(info, row?.tasks), isAboutTo: row?.is_behind === true }
}

export const findTask = async (service: Service, id: string): Promise<Found | undefined> => {
  const run = await rootOf(service, id)
  if (!run) return undefined
  const { tasks, isAboutTo } = await readTasks(service, run)
  const task = tasks.find(({ info }) => info.id === id)
  return task && { run, task, isAboutTo }
}

/** The handle of a task. It is stored with its run: this reads what that says of it. */
export class PostgresTask implements DurableRun {
  readonly id: string
  readonly agent: string
  readonly #service: Service

  constructor(service: Service, { id, agent }: RunInfo) {
    this.id = id
    this.agent = agent
    this.#service = service
  }

  async info(): Promise<RunInfo> {
    return (await this.#found()).task.info
  }

  get result(): Promise<DurableResult> {
    return this.#result()
  }

  stream(): ReturnType<DurableRun['stream']> {
    return unstreamed(this.id)
  }

  async #result(): Promise<DurableResult> {
    const { database, signal } = this.#service
    for (;;) {
      const { run, task, isAboutTo } = await database.insist(() => this.#found(), signal)
      const text = task.info.status === 'complete' ? await this.#textOf(run, task) : task.text
      // One with a fresh decision is about to continue.
      const result = isAboutTo && task.info.status === 'waiting' ? undefined : taskResult({ ...task, text })
      if (result) return result
      await pause(lookMs, signal)
    }
  }

  /** Reads the text of a task that is complete from the message that the model of its run gets. */
  async #textOf(run: RunRow, { info, path }: StoredTask): Promise<string> {
    if (path.length > 1)
      throw new OrchestrationError(`The result of "${info.id}" is part of the result of "${info.parent}".`)
    for (;;) {
      const { added } = await storedConversation(this.#service, run)
      const message = added.find((each) => isTaskMessage(each, info.callId))
      if (message) return taskTextIn(message)
      const now = await this.#service.rows.known(run.id)
      if (endStatuses.includes(now.status)) return ''
      await pause(lookMs, this.#service.signal)
    }
  }

  async #found(): Promise<Found> {
    this.#service.checkOpen()
    const found = await findTask(this.#service, this.id)
    if (!found) throw unknownRun(this.id)
    return found
  }
}
