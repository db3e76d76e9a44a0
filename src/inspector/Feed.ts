import type { ActorRecord } from './ActorRecord.ts'
import { mostMoments } from './ActorRecord.ts'
import { actorRow } from './actorRow.ts'
import { mostRuns, type Recorder } from './Recorder.ts'
import { Watch } from './Watch.ts'
import type { FeedMessage } from './wire.ts'

/**
 * What one page has been told so far, and what it has to be told next. A page that comes late is one that was told
 * nothing yet: its first message is everything, each later one is what is new.
 */
export class Feed {
  readonly #recorder: Recorder
  readonly #chosen: number | null
  readonly #known = new Set<number>()
  #watch: Watch | undefined
  #isFirst = true
  #version = 0

  /** Watches the chosen actor; without a choice the newest run, whichever that is. */
  constructor(recorder: Recorder, chosen: number | null) {
    this.#recorder = recorder
    this.#chosen = chosen
  }

  /** What is new, or null. */
  next(): FeedMessage | null {
    const { actors, secrets } = this.#recorder
    for (const record of actors.values()) if (record.ref) this.#recorder.look(record)
    const { version, droppedRuns } = this.#recorder
    const changed = [...actors.values()].filter((record) => record.version > this.#version)
    const gone = [...this.#known].filter((id) => !actors.has(id))
    const watched = this.#watched()?.next()
    const message: FeedMessage = {
      ...(this.#isFirst && { isFirst: true, limits: { moments: mostMoments, runs: mostRuns } }),
      ...(changed.length > 0 && { actors: changed.map((record) => actorRow(record, secrets)) }),
      ...(gone.length > 0 && { gone }),
      ...((gone.length > 0 || this.#isFirst) && { droppedRuns }),
      ...(watched && { watched }),
    }
    this.#isFirst = false
    this.#version = version
    for (const { id } of changed) this.#known.add(id)
    for (const id of gone) this.#known.delete(id)
    return Object.keys(message).length > 0 ? message : null
  }

  #watched(): Watch | undefined {
    const record = this.#target()
    if (record && record !== this.#watch?.record) this.#watch = new Watch(this.#recorder, record)
    return this.#watch
  }

  #target(): ActorRecord | undefined {
    const { actors } = this.#recorder
    if (this.#chosen !== null) return actors.get(this.#chosen)
    return [...actors.values()].findLast(({ parent, snapshot }) => parent === null && snapshot !== null)
  }
}
