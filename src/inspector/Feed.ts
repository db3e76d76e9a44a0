import { mostMoments } from './ActorRecord.ts'
import { actorRow } from './actorRow.ts'
import { mostRuns, type Recorder } from './Recorder.ts'
import { StoredRecord, type Subject } from './StoredRecord.ts'
import { Watch } from './Watch.ts'
import type { FeedMessage } from './wire.ts'

/** How long a message may take to be put together: a page must not stand in the way of what it watches. */
const budgetMs = 3
/** Actors in one message. */
const mostActors = 100

/**
 * What one page has been told so far, and what it has to be told next. A page that comes late is one that was told
 * nothing yet. It is told everything, in several messages where that is much.
 */
export class Feed {
  readonly #recorder: Recorder
  readonly #chosen: number | null
  readonly #known = new Set<number>()
  #watch: Watch | undefined
  #isFirst = true
  #version = 0
  /** There is more to tell than what `next` gave. */
  isBehind = false

  /** Watches the chosen actor; without a choice the newest run, whichever that is. */
  constructor(recorder: Recorder, chosen: number | null) {
    this.#recorder = recorder
    this.#chosen = chosen
  }

  /** What is new, or null. */
  next(): FeedMessage | null {
    const deadline = performance.now() + budgetMs
    const { actors, secrets } = this.#recorder
    for (const record of actors.values()) if (record.ref) this.#recorder.look(record)
    const { version, droppedRuns, hasMoreStored } = this.#recorder
    const allChanged = this.#recorder.subjects.filter((subject) => subject.version > this.#version)
    const changed =
      allChanged.length > mostActors
        ? allChanged.sort((a, b) => a.version - b.version).slice(0, mostActors)
        : allChanged
    const gone = [...this.#known].filter((id) => !this.#recorder.subject(id))
    const watched = this.#watched()?.next(deadline)
    const isCut = changed.length < allChanged.length
    this.isBehind = isCut || (this.#watch?.isBehind ?? false)
    const message: FeedMessage = {
      ...(this.isBehind && { isBehind: true }),
      ...(this.#isFirst && { isFirst: true, limits: { moments: mostMoments, runs: mostRuns } }),
      ...(changed.length > 0 && { actors: changed.map((record) => actorRow(record, secrets)) }),
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
    const shown = roots.filter((each) => each instanceof StoredRecord || each.snapshot !== null)
    // The ids are in the order in which they became known.
    return shown.reduce<Subject | undefined>((a, b) => (a && a.id > b.id ? a : b), undefined)
  }
}
