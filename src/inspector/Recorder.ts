import type { AnyActor, AnyEventObject, AnyTransitionDefinition, InspectionEvent, Snapshot } from 'xstate'
import { addTracer } from '../../machines/logic/runEnvironment.ts'
import { timeIn } from '../../machines/logic/systemTime.ts'
import { isRun } from '../../machines/tools/pendingCalls.ts'
import type { RunStatus } from '../durable/index.ts'
import { nameOf } from '../visualize/transitions.ts'
import { ActorRecord } from './ActorRecord.ts'
import { isRead } from './quietInspect.ts'
import type { StoredRecord, Subject } from './StoredRecord.ts'
import { WireTracer } from './WireTracer.ts'

/** Finished runs that are kept; the oldest go first. */
export const mostRuns = 50
/** Runs that are kept and have not finished: some are never started, some never end. */
const mostUnfinished = 500
/** Actors of one run that are kept. */
const mostActors = 500
/** Keys of agents that are remembered, to hide them. */
const mostLearnt = 50

/** A store whose runs are shown. */
export type ShownStore = {
  /** Takes what is in the store now. */
  look(): Promise<void>
  /** Shows the run with this id, however old it is. */
  find(run: string): Promise<void>
  /** Shows the next older runs that fit, and says whether there may be more. */
  older(wanted: WantedRuns): Promise<boolean>
}

/** The runs that a person looks for: by words of the prompt, the id, the agent or a tag, and by status. */
export type WantedRuns = { text: string; status: RunStatus | undefined }

/**
 * Records everything that happens in the actors it inspects. A stream may bring thousands of reads per second, so an
 * inspection event costs a look-up, a counter and a reference, and the rest is done when a page asks.
 */
export class Recorder {
  /** Actors by id, in the order of their creation. */
  readonly actors = new Map<number, ActorRecord>()
  readonly #stored = new Map<number, StoredRecord>()
  /** Stored runs that this process runs or has run, by their keys: one actor follows the other in the same record. */
  readonly #hosted = new Map<string, ActorRecord>()
  readonly #storedByKey = new Map<string, StoredRecord>()
  /** Texts that are never shown. The list grows with the keys that agents use. */
  readonly secrets: string[]
  droppedRuns = 0
  /** True if the store has more runs than are shown. */
  hasMoreStored = false
  /** The stores whose runs are shown. */
  readonly stores: ShownStore[] = []
  /** Counts changes: a page that saw version n has not seen what has a higher one. */
  version = 0
  readonly #records = new WeakMap<object, ActorRecord>()
  readonly #names = new WeakMap<AnyTransitionDefinition, string>()
  readonly #senders = new WeakMap<AnyEventObject, object>()
  readonly #onChange: () => void
  readonly #tracer = new WireTracer(
    (actor) => (this.isClosed ? undefined : this.#records.get(actor)),
    (secrets) => this.#learn(secrets),
  )
  readonly #learnt: string[] = []
  isClosed = false
  #lastId = 0
  #lastSeq = 0
  /** Most events are about the actor of the event before. */
  #recentRef: object | undefined
  #recent: ActorRecord | undefined

  constructor(secrets: string[], onChange: () => void) {
    this.secrets = secrets
    this.#onChange = onChange
  }

  readonly inspect = (event: InspectionEvent): void => {
    try {
      switch (event.type) {
        case '@xstate.snapshot':
          this.#settle(event.actorRef, event.event, event.snapshot)
          break
        case '@xstate.event': {
          const record = this.#recordOf(event.actorRef)
          record.sent = event.event
          if (event.sourceRef && !isRead(event.event)) this.#senders.set(event.event, event.sourceRef)
          break
        }
        case '@xstate.microstep':
          this.#step(event.actorRef, event.snapshot, event._transitions)
          break
        case '@xstate.actor':
          this.#recordOf(event.actorRef)
          break
      }
    } catch {
      // An observer must not break what it observes.
    }
  }

  /** Everything that a page may watch. A stored run that this process runs is there once: as its actor. */
  get subjects(): Subject[] {
    const actors = [...this.actors.values()].filter(({ root }) => !this.#isOvertaken(root))
    return [...actors, ...[...this.#stored.values()].filter((stored) => !this.isLive(stored))]
  }

  /** The subject with this id. The id of a stored run also finds its actor, and the other way round. */
  subject(id: number): Subject | undefined {
    const actor = this.actors.get(id)
    if (actor) return this.#isOvertaken(actor.root) ? this.storedOf(actor.root) : actor
    const stored = this.#stored.get(id)
    if (stored?.parent && this.isLive(stored.parent)) return undefined
    return stored && (this.#liveOf(stored) ?? stored)
  }

  /** Says whether a stored run is shown as its actor in this process, with its tasks as the actors below that. */
  isLive(stored: StoredRecord): boolean {
    return stored.parent ? this.isLive(stored.parent) : this.#liveOf(stored) !== undefined
  }

  /** The entry of the stored run that an actor runs. */
  storedOf({ run }: ActorRecord): StoredRecord | undefined {
    return run === '' ? undefined : this.#storedByKey.get(run)
  }

  /** The stored run with this id, if it is shown. */
  storedRun(id: string): Subject | undefined {
    const found = [...this.#stored.values()].find(({ info }) => info.id === id)
    return found && this.subject(found.id)
  }

  #liveOf({ key }: StoredRecord): ActorRecord | undefined {
    const live = this.#hosted.get(key)
    return live && this.actors.has(live.id) && !this.#isOvertaken(live) ? live : undefined
  }

  /** Says whether another process has continued the run of an actor that was stopped. */
  #isOvertaken(record: ActorRecord): boolean {
    const info = this.storedOf(record)?.info
    if (!info || record.ref || record.snapshot?.status === 'done' || record.snapshot?.status === 'error')
      return false
    const { context }: { context?: unknown } = Object(record.snapshot)
    const isOver = info.status !== 'running' && info.status !== 'waiting'
    return isOver || (isRun(context) && info.step > context.step)
  }

  knows(ref: object): boolean {
    return this.#records.has(ref)
  }

  /** Notes that a run was started again from another one. */
  adopt(ref: AnyActor, from: ActorRecord): ActorRecord {
    const record = this.#recordOf(ref)
    record.from = from
    return record
  }

  addStored(make: (id: number) => StoredRecord): StoredRecord {
    this.#lastId += 1
    const record = make(this.#lastId)
    this.#stored.set(record.id, record)
    if (record.key !== '') this.#storedByKey.set(record.key, record)
    const live = this.#hosted.get(record.key)
    if (live) this.touch(live)
    this.touch(record)
    return record
  }

  dropStored({ id, key }: StoredRecord): void {
    this.#stored.delete(id)
    this.#storedByKey.delete(key)
    this.#onChange()
  }

  /** The name of the actor that sent an event; empty if it is not known. */
  senderOf(event: AnyEventObject): string {
    const sender = this.#senders.get(event)
    return (sender && this.#records.get(sender)?.name) ?? ''
  }

  /** Brings an actor up to date for a page. An actor that crashed did not report it, so its snapshot is asked for. */
  refresh(record: ActorRecord): void {
    const { ref } = record
    const now = ref ? timeOf(ref) : (record.endedAt ?? Date.now())
    const snapshot = ref?.getSnapshot() as Snapshot<unknown> | undefined
    if (snapshot && snapshot.status !== 'active' && record.endedAt === null && record.sent) {
      record.settle(record.sent, snapshot, this.nextSeq(), now)
      this.touch(record)
    } else record.refresh(now)
  }

  #settle(ref: object, event: AnyEventObject, snapshot: Snapshot<unknown>): void {
    const record = this.#recordOf(ref)
    const now = timeOf(ref)
    if (isRead(event) && snapshot.status === 'active' && !record.steps.some(({ hasTarget }) => hasTarget)) {
      record.read(event, snapshot, this.nextSeq, now)
    } else {
      record.note((snapshot as { context?: unknown }).context, this.secrets, now)
      record.settle(event, snapshot, this.nextSeq(), now)
      if (record.endedAt !== null && record.parent === null) this.#forgetRuns()
    }
    this.touch(record)
  }

  #step(ref: object, snapshot: Snapshot<unknown>, transitions: readonly AnyTransitionDefinition[]): void {
    const record = this.#recordOf(ref)
    record.steps.push({
      taken: transitions.flatMap((transition) => this.#nameOf(transition)),
      snapshot,
      hasTarget: transitions.some(({ target }) => target !== undefined),
    })
    record.note((snapshot as { context?: unknown }).context, this.secrets, timeOf(ref))
  }

  /** The name of a transition of the chart; the start of a machine is a step without one. */
  #nameOf(transition: AnyTransitionDefinition): string[] {
    const known = this.#names.get(transition)
    if (known !== undefined) return [known]
    const { source, eventType } = transition
    const isOfChart =
      source.transitions.get(eventType)?.includes(transition) || source.always?.includes(transition)
    if (!isOfChart) return []
    const name = nameOf(transition)
    this.#names.set(transition, name)
    return [name]
  }

  #recordOf(ref: object): ActorRecord {
    if (this.#recentRef === ref && this.#recent) return this.#recent
    const record = this.#records.get(ref) ?? this.#add(ref as AnyActor)
    this.#recentRef = ref
    this.#recent = record
    return record
  }

  #add(ref: AnyActor): ActorRecord {
    const parent = ref._parent ? this.#recordOf(ref._parent) : null
    const fresh = new ActorRecord(this.#lastId + 1, ref, parent, timeOf(ref))
    const known = this.#hosted.get(fresh.run)
    if (known && this.actors.has(known.id)) {
      known.continueWith(ref)
      this.#records.set(ref, known)
      addTracer(ref.system, this.#tracer)
      this.touch(known)
      return known
    }
    const record = fresh
    this.#lastId += 1
    if (record.run !== '') this.#hosted.set(record.run, record)
    this.#records.set(ref, record)
    this.actors.set(record.id, record)
    this.touch(record)
    record.root.size += 1
    if (parent) this.#forgetActors(record.root)
    else {
      this.#forgetRuns()
      addTracer(ref.system, this.#tracer)
    }
    return record
  }

  /** Notes that a subject has changed, so that pages get it. */
  touch(record: Subject): void {
    this.version += 1
    record.version = this.version
    this.#onChange()
  }

  #learn(secrets: readonly string[]): void {
    const fresh = secrets.filter((secret) => !this.secrets.includes(secret))
    if (fresh.length === 0) return
    this.secrets.push(...fresh)
    // Keys that a function gives change all the time: the oldest of them go.
    this.#learnt.push(...fresh)
    for (const old of this.#learnt.splice(0, Math.max(0, this.#learnt.length - mostLearnt)))
      this.secrets.splice(this.secrets.indexOf(old), 1)
  }

  readonly nextSeq = (): number => {
    this.#lastSeq += 1
    return this.#lastSeq
  }

  #forgetRuns(): void {
    const roots = [...this.actors.values()].filter(({ parent }) => parent === null)
    const finished = roots.filter(({ endedAt }) => endedAt !== null)
    const excess = finished.slice(0, Math.max(0, finished.length - mostRuns))
    if (roots.length - finished.length > mostUnfinished) {
      excess.push(...roots.filter(({ endedAt }) => endedAt === null).slice(0, 1))
    }
    for (const root of excess) {
      this.droppedRuns += 1
      this.#hosted.delete(root.run)
      for (const record of this.actors.values()) if (record.root === root) this.actors.delete(record.id)
    }
  }

  /** Forgets the oldest ended actors of a very long run, many at a time. */
  #forgetActors(root: ActorRecord): void {
    if (root.size < mostActors + 100) return
    const actors = [...this.actors.values()].filter((record) => record.root === root)
    const parents = new Set(actors.map(({ parent }) => parent))
    const ended = actors.filter((record) => record.endedAt !== null && !parents.has(record))
    for (const record of ended.slice(0, 100)) this.actors.delete(record.id)
    root.size = actors.length - Math.min(100, ended.length)
  }
}

/** The time of the run, by its own clock if it was given one. */
const timeOf = (ref: object): number => {
  const { system } = ref as Partial<AnyActor>
  return timeIn(system)
}
