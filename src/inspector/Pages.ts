import type { ServerResponse } from 'node:http'
import { mostMoments } from './ActorRecord.ts'
import { actorRow } from './actorRow.ts'
import type { FeedMessage } from './protocol.ts'
import { mostRuns, type Recorder } from './Recorder.ts'
import { Refusal, securityHeaders } from './requests.ts'
import { StoredRecord, type Subject } from './StoredRecord.ts'
import { safeJson } from './secrets.ts'
import { Watch } from './Watch.ts'

const mostPages = 30

/** Least time between two messages to a page. */
const flushMs = 50
/** Pause before a page that is behind gets the rest: the process does its own work in between. */
const pauseMs = 10

/** The pages that are open, each with its own event stream. */
export class Pages {
  readonly #open = new Map<ServerResponse, Feed>()
  readonly #secrets: readonly string[]
  #timer: NodeJS.Timeout | undefined

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets
  }

  get isOpen(): boolean {
    return this.#open.size > 0
  }

  add(response: ServerResponse, feed: Feed): void {
    if (this.#open.size >= mostPages) throw new Refusal(503, 'Too many pages are open.')
    response.writeHead(200, { ...securityHeaders, 'content-type': 'text/event-stream' })
    response.on('close', () => this.#open.delete(response))
    response.on('drain', this.wake)
    this.#open.set(response, feed)
    this.#send(response, feed)
  }

  /** Sends what has changed, a little later. Called for every chunk of a stream. */
  readonly wake = (): void => {
    this.#flushAfter(flushMs)
  }

  close(): void {
    clearTimeout(this.#timer)
    for (const response of this.#open.keys()) response.end()
    this.#open.clear()
  }

  #flushAfter(ms: number): void {
    if (this.#timer === undefined && this.#open.size > 0) this.#timer = setTimeout(this.#flush, ms)
  }

  readonly #flush = (): void => {
    this.#timer = undefined
    for (const [response, feed] of this.#open) this.#send(response, feed)
  }

  /** Sends a page its news. A page that reads slowly gets fewer messages, not longer ones. */
  #send(response: ServerResponse, feed: Feed): void {
    if (response.writableNeedDrain) return
    const message = feed.next()
    if (message) response.write(`data: ${safeJson(message, this.#secrets)}\n\n`)
    if (feed.isBehind) this.#flushAfter(pauseMs)
  }
}

/** Time that one message may take: a page must not slow down the process that it watches. */
const budgetMs = 3
/** Most actors in one message. */
const mostActors = 100

/**
 * The messages to one page: it remembers what the page has, and gives it the rest. A page that opens late gets everything,
 * in several messages if there is a lot.
 */
export class Feed {
  readonly #recorder: Recorder
  readonly #chosen: number | null
  readonly #known = new Set<number>()
  #watch: Watch | undefined
  #isFirst = true
  #version = 0
  /** True if `next` left something out. */
  isBehind = false

  /** Watches the chosen actor; without a choice, always the newest run. */
  constructor(recorder: Recorder, chosen: number | null) {
    this.#recorder = recorder
    this.#chosen = chosen
  }

  /** The next message; null if nothing has changed. */
  next(): FeedMessage | null {
    const deadline = performance.now() + budgetMs
    const { actors } = this.#recorder
    for (const record of actors.values()) if (record.ref) this.#recorder.refresh(record)
    const { version, droppedRuns, hasMoreStored } = this.#recorder
    const allChanged = this.#recorder.subjects.filter((subject) => subject.version > this.#version)
    const changed =
      allChanged.length > mostActors
        ? allChanged.sort((a, b) => a.version - b.version).slice(0, mostActors)
        : allChanged
    const gone = [...this.#known].filter((id) => this.#recorder.subject(id)?.id !== id)
    const watched = this.#watched()?.next(deadline)
    const isCut = changed.length < allChanged.length
    this.isBehind = isCut || (this.#watch?.isBehind ?? false)
    const message: FeedMessage = {
      ...(this.isBehind && { isBehind: true }),
      ...(this.#isFirst && { isFirst: true, limits: { moments: mostMoments, runs: mostRuns } }),
      ...(changed.length > 0 && { actors: changed.map((record) => actorRow(this.#recorder, record)) }),
      ...(gone.length > 0 && { gone }),
      ...((gone.length > 0 || this.#isFirst) && {
        droppedRuns,
        ...(hasMoreStored && { hasMoreStored }),
      }),
      ...(watched && { watched }),
    }
    this.#isFirst = false
    this.#version = isCut ? (changed.at(-1)?.version ?? version) : version
    for (const { id } of changed) this.#known.add(id)
    for (const id of gone) this.#known.delete(id)
    return Object.keys(message).length > 0 ? message : null
  }

  #watched(): Watch | undefined {
    const record = this.#target()
    if (record && record !== this.#watch?.record) {
      if (record instanceof StoredRecord) record.watch()
      this.#watch = new Watch(this.#recorder, record)
    }
    return this.#watch
  }

  #target(): Subject | undefined {
    if (this.#chosen !== null) return this.#recorder.subject(this.#chosen)
    const roots = this.#recorder.subjects.filter(({ parent }) => parent === null)
    const shown = roots.filter((each) =>
      each instanceof StoredRecord ? !each.isOld : each.snapshot !== null,
    )
    // The ids are in the order in which they became known.
    return shown.reduce<Subject | undefined>((a, b) => (a && a.id > b.id ? a : b), undefined)
  }
}
