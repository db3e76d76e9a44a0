import type { AgentCommand } from '../../machines/agent/events.ts'
import type { DurableRun, RunInfo, Runs } from '../durable/index.ts'
import { viewOf } from '../durable/sqlite/storeView.ts'
import type { JsonObject } from '../messages/json.ts'
import type { Charted } from '../visualize/transitions.ts'
import { isCharted, lifecycleChart } from './chart.ts'
import { nextInput } from './conversation.ts'
import { mostRuns, type Recorder } from './Recorder.ts'
import { Refusal } from './requests.ts'
import { StoredRecord } from './StoredRecord.ts'

/** Time between two looks at the store. */
const pollMs = 250

/** Shows the runs of a store beside the actors of this process. It reads them and enqueues commands; it runs nothing. */
export class StoredRuns {
  readonly #runs: Runs
  readonly #recorder: Recorder
  readonly #isWatched: () => boolean
  readonly #records = new Map<string, StoredRecord>()
  /** The runs that a page has shown, and what ends reading their streams. */
  readonly #followed = new Map<StoredRecord, AbortController>()
  readonly #charts = new Map<string, Charted>()
  #timer: NodeJS.Timeout | undefined
  #isLooking = false

  /** `isWatched` says whether a page is open that could show them. */
  constructor(runs: Runs, recorder: Recorder, isWatched: () => boolean) {
    this.#runs = runs
    this.#recorder = recorder
    this.#isWatched = isWatched
  }

  /** Lists the newest runs, and begins to watch the store. */
  async open(): Promise<void> {
    // A run that waits for a person is listed however old it is.
    const waiting = await this.#runs.list({ status: 'waiting', limit: mostRuns })
    const newest = await this.#runs.list({ limit: mostRuns })
    const all = new Map([...newest, ...waiting].map((info) => [info.id, info]))
    const byAge = [...all.values()].sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime())
    for (const info of byAge) this.#update(info)
    this.#recorder.hasMoreStored ||= newest.length === mostRuns
    this.#timer = setInterval(() => void this.#look(), pollMs).unref()
  }

  close(): void {
    clearInterval(this.#timer)
    for (const left of this.#followed.values()) left.abort()
  }

  async #look(): Promise<void> {
    if (this.#isLooking || !this.#isWatched()) return
    this.#isLooking = true
    try {
      const newest = await this.#runs.list({ limit: mostRuns })
      for (const info of newest.reverse()) this.#update(info)
      const listed = new Set(newest.map(({ id }) => id))
      for (const record of this.#records.values())
        if (!listed.has(record.info.id) && (!record.isOver || newest.length < mostRuns))
          await this.#lookAt(record)
      this.#forget()
    } catch {
      // The store was closed, or fails: the page keeps what it knew last.
    } finally {
      this.#isLooking = false
    }
  }

  async #lookAt(record: StoredRecord): Promise<void> {
    const run = await this.#runs.get(record.info.id)
    if (run) this.#update(await run.info())
    else this.#drop(record)
  }

  /** Takes the entry of a run that is new, or may have changed. */
  #update(info: RunInfo): void {
    const known = this.#records.get(info.id)
    if (!known) {
      const record = this.#recorder.addStored((id) => this.#recordOf(id, info))
      this.#records.set(info.id, record)
      return
    }
    if (isSameEntry(known.info, info)) return
    known.info = info
    if (this.#followed.has(known)) this.#read(known)
    this.#recorder.touch(known)
  }

  #recordOf(id: number, info: RunInfo): StoredRecord {
    const record: StoredRecord = new StoredRecord({
      id,
      info,
      machine: this.#chartOf(info.agent),
      secrets: this.#recorder.secrets,
      onWatch: () => this.#watch(record),
      send: (command) => this.#send(info.id, command),
      canAsk: viewOf(this.#runs)?.agent(info.agent) !== undefined,
      again: (given) => this.#again(record, given),
      isHere: () => viewOf(this.#runs)?.isOwner() === true,
      restart: () => viewOf(this.#runs)?.restart(info.id) === true,
    })
    return record
  }

  #chartOf(agent: string): Charted {
    const { machine }: { machine?: unknown } = Object(viewOf(this.#runs)?.agent(agent))
    const chart = this.#charts.get(agent) ?? (isCharted(machine) ? machine : lifecycleChart())
    this.#charts.set(agent, chart)
    return chart
  }

  async #send(id: string, command: AgentCommand): Promise<string> {
    await this.#runs.send(id, command)
    return viewOf(this.#runs)?.hasOwner() === false
      ? 'Stored. No program is running these runs now: the next one that opens them with their agents continues.'
      : ''
  }

  /** Starts another run. The process that owns the store runs it: this one, or another. */
  async #again(record: StoredRecord, given: JsonObject): Promise<StoredRecord> {
    const { info, canAsk } = record
    if (!canAsk)
      throw new Refusal(409, 'Open the inspector with the agents of these runs: openRuns({ store, agents }).')
    if (typeof given.model === 'string' && given.model !== '')
      throw new Refusal(409, 'A stored run keeps the model of its agent.')
    const run = await this.#begin(info, record, given)
    const begun = await run.info()
    this.#update(begun)
    const made = this.#records.get(begun.id)
    if (!made) throw new Refusal(409, 'The new run has already been deleted.')
    made.from = record
    this.#recorder.touch(made)
    return made
  }

  #begin(info: RunInfo, record: StoredRecord, given: JsonObject): Promise<DurableRun> {
    if (typeof given.step === 'number') return this.#runs.fork(info.id, { atStep: given.step })
    const { prompt = '', history = [] } = nextInput(record, given)
    return this.#runs.start(info.agent, prompt, { history })
  }

  #watch(record: StoredRecord): void {
    if (this.#followed.has(record)) return
    const left = new AbortController()
    this.#followed.set(record, left)
    this.#read(record)
    this.#follow(record, left.signal).catch(() => {
      // The run was deleted, or its store was closed: the page keeps what it knew last.
    })
  }

  /** Reads what is stored of a run now. */
  #read(record: StoredRecord): void {
    try {
      const from = viewOf(this.#runs)?.from(record.info.id)
      if (from) record.update(from, this.#recorder.nextSeq())
    } catch {
      // The snapshot is damaged, or the store was closed: the list and the stream are still shown.
    }
    this.#recorder.touch(record)
  }

  async #follow(record: StoredRecord, signal: AbortSignal): Promise<void> {
    const run: DurableRun | undefined = await this.#runs.get(record.info.id)
    let after: string | undefined
    let isWaiting = true
    // A stream ends where its run waits, and continues after that.
    while (run && isWaiting && !signal.aborted) {
      isWaiting = false
      for await (const { cursor, chunk } of run.stream({ signal, ...(after !== undefined && { after }) })) {
        after = cursor
        isWaiting = chunk.pendingApproval !== undefined
        record.receive(chunk)
        this.#recorder.touch(record)
      }
    }
  }

  #forget(): void {
    const over = [...this.#records.values()].filter(({ isOver }) => isOver)
    for (const record of over.slice(0, Math.max(0, over.length - mostRuns))) {
      this.#recorder.hasMoreStored = true
      this.#drop(record)
    }
  }

  #drop(record: StoredRecord): void {
    this.#records.delete(record.info.id)
    this.#followed.get(record)?.abort()
    this.#followed.delete(record)
    this.#recorder.dropStored(record)
  }
}

const isSameEntry = (a: RunInfo, b: RunInfo): boolean =>
  a.updatedAt.getTime() === b.updatedAt.getTime() &&
  a.status === b.status &&
  a.state === b.state &&
  a.step === b.step &&
  a.pending.length === b.pending.length
