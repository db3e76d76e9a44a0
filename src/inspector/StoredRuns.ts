import type { AgentCommand } from '../../machines/agent/events.ts'
import { chunkWith } from '../durable/chunks.ts'
import { conversationOf } from '../durable/conversation.ts'
import type { DurableRun, RunInfo, Runs } from '../durable/index.ts'
import { viewOf } from '../durable/storeView.ts'
import type { JsonObject } from '../messages/json.ts'
import { type ChatMessage, modelMessage, userMessage } from '../messages/messages.ts'
import type { Charted } from '../visualize/transitions.ts'
import { storedRunKey } from './ActorRecord.ts'
import { isCharted, lifecycleChart } from './chart.ts'
import { nextInput } from './conversation.ts'
import { mostRuns, type Recorder, type ShownStore, type WantedRuns } from './Recorder.ts'
import { Refusal } from './requests.ts'
import { StoredRecord } from './StoredRecord.ts'

/** Time between two looks at the store. */
const pollMs = 250

/** Runs that are read from the store at a time, and in one search. */
const pageLength = 100
const mostLookedAt = 10_000
/** Tasks of one run that are shown. */
const mostTasks = 500
/** Older runs that are shown because a person asked for them. */
const mostWanted = 2_000

/** Shows the runs of a store beside the actors of this process. It reads them and enqueues commands; it runs nothing. */
export class StoredRuns implements ShownStore {
  readonly #runs: Runs
  readonly #recorder: Recorder
  readonly #isWatched: () => boolean
  readonly #records = new Map<string, StoredRecord>()
  /** The tasks of the runs, and those below them, by their ids. */
  readonly #tasks = new Map<string, StoredRecord>()
  /** The runs that a page has shown, and what ends reading their streams. */
  readonly #followed = new Map<StoredRecord, AbortController>()
  readonly #charts = new Map<string, Charted>()
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #reading: Promise<void> = Promise.resolve()
  /** Runs that are kept although newer ones were listed: a person asked for them. */
  readonly #wanted = new Set<string>()

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
    await this.#reading
    this.#recorder.hasMoreStored ||= newest.length === mostRuns
    this.#timer = setInterval(() => {
      if (this.#isWatched()) void this.look()
    }, pollMs).unref()
  }

  close(): void {
    clearInterval(this.#timer)
    for (const left of this.#followed.values()) left.abort()
  }

  /** Takes what is in the store now. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #look(): Promise<void> {
    try {
      const newest = await this.#runs.list({ limit: mostRuns })
      for (const info of newest.reverse()) this.#update(info)
      const listed = new Set(newest.map(({ id }) => id))
      for (const record of this.#records.values())
        if (!listed.has(record.info.id) && (!record.isOver || newest.length < mostRuns))
          await this.#lookAt(record)
      await this.#reading
      this.#forget()
    } catch {
      // The store was closed, or fails: the page keeps what it knew last.
    }
  }

  async find(run: string): Promise<void> {
    const found = this.#records.has(run) ? undefined : await this.#runs.get(run)
    if (found) this.#want(await found.info())
  }

  async older({ text, status }: WantedRuns): Promise<boolean> {
    const words = text.toLowerCase()
    let added = 0
    let before: string | undefined
    for (let looked = 0; looked < mostLookedAt; looked += pageLength) {
      const filter = { ...(status && { status }), ...(before !== undefined && { before }) }
      const page = await this.#runs.list({ limit: pageLength, ...filter })
      for (const info of page) {
        if (this.#records.has(info.id) || !wordsOf(info).includes(words)) continue
        if (added === mostRuns || this.#wanted.size >= mostWanted) return true
        this.#want(info)
        added += 1
      }
      before = page.at(-1)?.id
      if (page.length < pageLength) return false
    }
    return true
  }

  #want(info: RunInfo): void {
    this.#wanted.add(info.id)
    this.#update(info)
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
      const record = this.#recorder.addStored((id) => this.#recordOf(id, info, null))
      this.#records.set(info.id, record)
      this.#updateTasks(record)
      return
    }
    if (isSameEntry(known.info, info)) return
    this.#change(known, info)
    this.#updateTasks(known)
  }

  /** Takes the tasks of a run, unless their actors are in this process and are shown. */
  #updateTasks(run: StoredRecord): void {
    if (this.#recorder.isLive(run)) return
    this.#inOrder(async () => {
      const tasks = (await viewOf(this.#runs)?.tasks(run.info.id)) ?? []
      // It may have been dropped meanwhile.
      if (this.#records.get(run.info.id) !== run) return
      for (const info of tasks.slice(0, mostTasks)) this.#updateTask(run, info)
    })
  }

  #updateTask(run: StoredRecord, info: RunInfo): void {
    const known = this.#tasks.get(info.id)
    const parent = this.#tasks.get(info.parent ?? '') ?? run
    if (known) this.#change(known, info)
    else
      this.#tasks.set(
        info.id,
        this.#recorder.addStored((id) => this.#recordOf(id, info, parent)),
      )
  }

  /** Reads something of a run once earlier reads are done: older data must never be shown after newer. */
  #inOrder(read: () => Promise<void>): Promise<void> {
    this.#reading = this.#reading.then(read).catch(() => {
      // The snapshot is damaged, or the store was closed: what can be read is still shown.
    })
    return this.#reading
  }

  #change(known: StoredRecord, info: RunInfo): void {
    known.info = info
    if (this.#followed.has(known)) void this.#read(known)
    if (this.#followed.has(known) && known.parent) this.#readEnd(known).catch(() => {})
    this.#recorder.touch(known)
  }

  #recordOf(id: number, info: RunInfo, parent: StoredRecord | null): StoredRecord {
    const view = viewOf(this.#runs)
    const record: StoredRecord = new StoredRecord({
      id,
      info,
      parent,
      key: parent ? '' : keyOf(this.#runs, info.id),
      // A task has the name of its tool, which is not that of an agent.
      machine: parent ? lifecycleChart() : this.#chartOf(info.agent),
      secrets: this.#recorder.secrets,
      onWatch: () => this.#watch(record),
      send: (command) => this.#send(info.id, command),
      canAsk: !parent && view?.agent(info.agent) !== undefined,
      again: (given) => this.#again(record, given),
      isOld: this.#wanted.has(info.id),
      isHere: () => view?.restart !== undefined && view.isOwner(),
      restart: () => view?.restart?.(info.id) === true,
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
    return (await viewOf(this.#runs)?.hasOwner()) === false
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
    const { prompt = '', history = [], policy } = nextInput(record, given)
    return this.#runs.start(info.agent, prompt, { history, ...(policy && { policy }) })
  }

  #watch(record: StoredRecord): void {
    if (this.#followed.has(record)) return
    const left = new AbortController()
    this.#followed.set(record, left)
    this.#read(record)
      .then(() => (record.parent ? this.#readEnd(record) : this.#follow(record, left.signal)))
      .catch(() => {
        // The run was deleted, or its store was closed: the page keeps what it knew last.
      })
  }

  #read(record: StoredRecord): Promise<void> {
    return this.#inOrder(async () => {
      try {
        const from = await viewOf(this.#runs)?.from(record.info.id)
        if (from) record.update(from, this.#recorder.nextSeq())
        if (from && record.parent) this.#receive(record, conversationOf(from).added)
      } finally {
        this.#recorder.touch(record)
      }
    })
  }

  /** Shows the messages of a task that are new. They are stored with its run, which has no stream of them. */
  #receive(record: StoredRecord, messages: readonly ChatMessage[]): void {
    for (const message of messages.slice(record.messages.length))
      record.receive(chunkWith({ messages: [message] }))
  }

  /** Shows what is left of a task that is over: its prompt and its result. */
  async #readEnd(record: StoredRecord): Promise<void> {
    const { id, prompt } = record.info
    if (!record.isOver) return
    const result = await (await this.#runs.get(id))?.result
    if (!result || record.messages.at(-1)?.role === 'model') return
    const before = record.messages.length > 0 ? record.messages : [userMessage(prompt)]
    this.#receive(record, [...before, modelMessage(result.output)])
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
    const over = [...this.#records.values()].filter(
      ({ isOver, info }) => isOver && !this.#wanted.has(info.id),
    )
    for (const record of over.slice(0, Math.max(0, over.length - mostRuns))) {
      this.#recorder.hasMoreStored = true
      this.#drop(record)
    }
  }

  #drop(record: StoredRecord): void {
    const { id } = record.info
    this.#wanted.delete(id)
    this.#records.delete(id)
    this.#stopShowing(record)
    for (const [task, below] of this.#tasks) {
      if (!task.startsWith(`${id}/`)) continue
      this.#tasks.delete(task)
      this.#stopShowing(below)
    }
  }

  #stopShowing(record: StoredRecord): void {
    this.#followed.get(record)?.abort()
    this.#followed.delete(record)
    this.#recorder.dropStored(record)
  }
}

/** The words that a run can be found by. */
const wordsOf = ({ prompt, id, agent, tags = [] }: RunInfo): string =>
  [prompt, id, agent, ...tags].join('\n').toLowerCase()

/** The name of a run that its actor in this process has, too. */
const keyOf = (runs: Runs, id: string): string => {
  const view = viewOf(runs)
  return view ? storedRunKey(view.store, id) : ''
}

const isSameEntry = (a: RunInfo, b: RunInfo): boolean =>
  a.updatedAt.getTime() === b.updatedAt.getTime() &&
  a.status === b.status &&
  a.state === b.state &&
  a.step === b.step &&
  a.pending.length === b.pending.length
