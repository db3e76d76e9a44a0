import type { AgentCommand } from '../../machines/agent/events.ts'
import type { DurableRun, RunInfo, Runs } from '../durable/index.ts'
import { viewOf } from '../durable/sqlite/storeView.ts'
import type { JsonObject } from '../messages/json.ts'
import type { Charted } from '../visualize/transitions.ts'
import { isCharted } from './ActorRecord.ts'
import { lifecycleChart } from './lifecycleChart.ts'
import { nextInput } from './nextInput.ts'
import { mostRuns, type Recorder } from './Recorder.ts'
import { Refusal } from './requests.ts'
import { StoredRecord } from './StoredRecord.ts'

/** How often it is looked whether runs stand elsewhere. */
const pollMs = 250

/** Shows the runs of a store beside the actors of this process. It looks, and leaves word; it runs nothing. */
export class StoredRuns {
  readonly #runs: Runs
  readonly #recorder: Recorder
  readonly #isWatched: () => boolean
  readonly #records = new Map<string, StoredRecord>()
  /** Those that a page has looked at, and what ends that. */
  readonly #followed = new Map<StoredRecord, AbortController>()
  readonly #charts = new Map<string, Charted>()
  #timer: NodeJS.Timeout | undefined
  #isLooking = false

  /** `isWatched`: whether there is a page that could show them. */
  constructor(runs: Runs, recorder: Recorder, isWatched: () => boolean) {
    this.#runs = runs
    this.#recorder = recorder
    this.#isWatched = isWatched
  }

  /** The newest runs are known when this resolves. */
  async open(): Promise<void> {
    // Somebody who waits is worth a line, however long ago it began.
    const waiting = await this.#runs.list({ status: 'waiting', limit: mostRuns })
    const newest = await this.#runs.list({ limit: mostRuns })
    const all = new Map([...newest, ...waiting].map((info) => [info.id, info]))
    const byAge = [...all.values()].sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime())
    for (const info of byAge) this.#meet(info)
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
      for (const info of newest.reverse()) this.#meet(info)
      const listed = new Set(newest.map(({ id }) => id))
      for (const record of this.#records.values())
        if (!listed.has(record.info.id) && (!record.isOver || newest.length < mostRuns))
          await this.#lookAt(record)
      this.#forget()
    } catch {
      // A store that was closed, or fails: what is shown is the last that was known.
    } finally {
      this.#isLooking = false
    }
  }

  async #lookAt(record: StoredRecord): Promise<void> {
    const run = await this.#runs.get(record.info.id)
    if (run) this.#meet(await run.info())
    else this.#drop(record)
  }

  /** A run that is new, or may stand elsewhere. */
  #meet(info: RunInfo): void {
    const known = this.#records.get(info.id)
    if (!known) {
      const record = this.#recorder.addStored((id) => this.#recordOf(id, info))
      this.#records.set(info.id, record)
      return
    }
    if (sameStand(known.info, info)) return
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
      ? 'Stored. No program runs these runs now: the next one that opens them with their agents continues.'
      : ''
  }

  /** The store's own owner runs it: here, or in another process. */
  async #again(record: StoredRecord, given: JsonObject): Promise<StoredRecord> {
    const { info, canAsk } = record
    if (!canAsk)
      throw new Refusal(409, 'Open the inspector with the agents of these runs: openRuns({ store, agents }).')
    if (typeof given.model === 'string' && given.model !== '')
      throw new Refusal(409, 'A stored run keeps the model of its agent.')
    const run = await this.#begin(info, record, given)
    const begun = await run.info()
    this.#meet(begun)
    const made = this.#records.get(begun.id)
    if (!made) throw new Refusal(409, 'The run that was begun is gone already.')
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
      // It was deleted, or its store was closed: what is shown is the last that was known.
    })
  }

  /** What is stored of it now. */
  #read(record: StoredRecord): void {
    try {
      const from = viewOf(this.#runs)?.from(record.info.id)
      if (from) record.stand(from, this.#recorder.nextSeq())
    } catch {
      // It is damaged, or its store was closed: the list and the stream are shown as far as they can be read.
    }
    this.#recorder.touch(record)
  }

  async #follow(record: StoredRecord, signal: AbortSignal): Promise<void> {
    const run: DurableRun | undefined = await this.#runs.get(record.info.id)
    let after: string | undefined
    let isWaiting = true
    // A stream ends where its run waits, and goes on behind that.
    while (run && isWaiting && !signal.aborted) {
      isWaiting = false
      for await (const { cursor, chunk } of run.stream({ signal, ...(after !== undefined && { after }) })) {
        after = cursor
        isWaiting = chunk.pendingApproval !== undefined
        record.hear(chunk)
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

const sameStand = (a: RunInfo, b: RunInfo): boolean =>
  a.updatedAt.getTime() === b.updatedAt.getTime() &&
  a.status === b.status &&
  a.state === b.state &&
  a.step === b.step &&
  a.pending.length === b.pending.length
