import { unknownRun } from '../runOptions.ts'
import type { DurableResult, DurableRun, RunInfo } from '../runs.ts'
import { type StoredTask, storedTasks, taskResult, unstreamed } from '../tasks.ts'
import { hostedFrom } from './pack.ts'
import type { RunOwner } from './RunOwner.ts'
import { infoOf, type RunRow, type RunSummary } from './runRow.ts'
import type { OpenStore } from './sqlite.ts'
import { whenFree } from './whenFree.ts'

/** Reads the tasks of a stored run, and those below them. */
export const tasksOf = (store: OpenStore, run: RunSummary, info: RunInfo = infoOf(run)): StoredTask[] => {
  const row = store.runs.byNumber(run.n)
  return row ? tasksIn(store, row, info) : []
}

const tasksIn = (store: OpenStore, { n, base, packedSnapshot }: RunRow, info: RunInfo): StoredTask[] => {
  // Most runs have none, and reading one whole takes time.
  if (!packedSnapshot.includes('"tasks":[')) return []
  const from = hostedFrom(packedSnapshot, store.items.load(n, base))
  return 'snapshot' in from ? storedTasks(info, from.snapshot) : []
}

/** Finds a task by its id, with the stored run that has it. The id begins with that of the run. */
export const findTask = (store: OpenStore, id: string): { run: RunRow; task: StoredTask } | undefined => {
  for (let end = id.lastIndexOf('/'); end > 0; end = id.lastIndexOf('/', end - 1)) {
    const run = store.runs.get(id.slice(0, end))
    const task = run && tasksIn(store, run, infoOf(run)).find(({ info }) => info.id === id)
    if (task) return { run, task }
  }
  return undefined
}

/** The handle of a task. It is stored with its run: this reads what that says of it. */
export class SqliteTask implements DurableRun {
  readonly id: string
  readonly agent: string
  readonly #owner: RunOwner
  /** The number of the run that has it. */
  readonly #run: number

  constructor(owner: RunOwner, run: RunSummary, { id, agent }: RunInfo) {
    this.id = id
    this.agent = agent
    this.#owner = owner
    this.#run = run.n
  }

  async info(): Promise<RunInfo> {
    return (await whenFree(() => this.#now())).info
  }

  get result(): Promise<DurableResult> {
    return this.#result()
  }

  stream(): ReturnType<DurableRun['stream']> {
    return unstreamed(this.id)
  }

  async #result(): Promise<DurableResult> {
    for (;;) {
      const { result, change } = await whenFree(() => {
        const found = this.#resultNow()
        return found ? { result: found } : { change: this.#owner.statuses.next(this.#run) }
      })
      if (result) return result
      await change
    }
  }

  #resultNow(): DurableResult | undefined {
    const { runs, commands } = this.#owner.store
    const now = this.#now()
    // A task with a fresh decision is about to continue.
    const isAboutTo = now.info.status === 'waiting' && commands.of(this.#run).length > 0
    const result = isAboutTo ? undefined : taskResult(now)
    if (result) return result
    const run = runs.byNumber(this.#run)
    const failure = run && this.#owner.failureOf(run)
    if (failure) throw failure
    return undefined
  }

  #now(): StoredTask {
    const { store } = this.#owner
    const run = store.runs.byNumber(this.#run)
    const [info] = run ? this.#owner.infosOf([run]) : []
    const task = run && info && tasksIn(store, run, info).find((each) => each.info.id === this.id)
    if (!task) throw unknownRun(this.id)
    return task
  }
}
