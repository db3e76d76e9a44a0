import type { AnyActor, AnyEventObject, AnyMachineSnapshot, Snapshot } from 'xstate'
import type { StreamingState } from '../../machines/agent/streamingState.ts'
import { type RunValues, valuesOf } from '../../machines/logic/runValues.ts'
import type { ChatMessage } from '../messages/messages.ts'
import type { Charted } from '../visualize/transitions.ts'
import { Attempt } from './Attempt.ts'
import { historyOf } from './conversation.ts'
import { WireLog } from './WireLog.ts'

/** Moments of one actor that are kept; older ones are dropped. */
export const mostMoments = 2_000
/** Reads that come within this time are one moment, so that a stream can be walked through without keeping each read. */
const sliceMs = 250
/** Reports of one call. */
const mostProgress = 20
/** Reads whose text is not looked at yet. */
const mostUnread = 4_096

/** A step of a machine on its way from one event to rest. */
export type Microstep = { taken: string[]; snapshot: Snapshot<unknown>; hasTarget: boolean }

export type Moment = {
  readonly seq: number
  readonly at: number
  readonly event: AnyEventObject
  readonly steps: readonly Microstep[]
  snapshot: Snapshot<unknown>
  /** Ids of the states, where the snapshot does not have them. */
  readonly states?: readonly string[]
  reads: number
  progress: [attempt: number, text: number, thinking: number]
}

/** What is remembered of one actor. References to its snapshots only: nothing is copied before a page asks. */
export class ActorRecord {
  readonly id: number
  readonly parent: ActorRecord | null
  readonly root: ActorRecord
  /** Actors of the run, on its root. */
  size = 0
  /** What the models of the run sent and received, on its root. */
  readonly wire: WireLog
  readonly createdAt: number
  /** For commands; gone with the actor's end. */
  ref: AnyActor | null
  readonly name: string
  /** Of the actor that runs a call. */
  readonly toolName: string
  readonly machine: Charted | null
  moments: Moment[] = []
  /** Moments no longer kept, and the transitions they took. */
  dropped = 0
  readonly droppedTaken = new Map<string, number>()
  /** Requests of this actor and of the agents it is made of, but not of agents that an agent uses as tools. */
  readonly attempts: Attempt[] = []
  /** The conversation before the run. */
  before: ChatMessage[] | null = null
  readonly toolProgress = new Map<string, { seq: number; value: unknown }[]>()
  readonly toolTimes = new Map<string, { startedAt: number; endedAt: number | null }>()
  steps: Microstep[] = []
  /** The last event that was sent to it: what a crash is put down to. */
  sent: AnyEventObject | null = null
  snapshot: Snapshot<unknown> | null = null
  #values: RunValues | null = null
  /** The run that this one was tried again from. */
  from: ActorRecord | null = null
  endedAt: number | null = null
  reads = 0
  version = 0
  #unread: unknown[] = []

  constructor(id: number, ref: AnyActor, parent: ActorRecord | null, now: number) {
    this.id = id
    this.ref = ref
    this.parent = parent
    this.root = parent?.root ?? this
    this.wire = parent?.wire ?? new WireLog()
    this.createdAt = now
    this.machine = machineOf(ref.logic)
    this.name = String(ref.id === ref.sessionId ? (this.machine?.id ?? ref.id) : ref.id)
    const { call }: { call?: { name?: unknown } } = ref.options?.input ?? {}
    this.toolName = this.name.startsWith('call:') && typeof call?.name === 'string' ? call.name : ''
  }

  /** The hot path: one read of a stream. Everything else waits until a page asks. */
  read(event: AnyEventObject, snapshot: Snapshot<unknown>, next: () => number, now: number): void {
    let moment = this.moments[this.moments.length - 1]
    if (!moment || now - moment.at > sliceMs || !continues(moment, event, this.steps)) {
      moment = this.#begin(event, snapshot, next(), now)
    } else if (this.steps.length > 0) this.steps = []
    moment.reads += 1
    moment.snapshot = snapshot
    this.snapshot = snapshot
    this.reads += 1
    if (event.deltas !== undefined && this.#unread.push(event.deltas) >= mostUnread) this.catchUp(now)
  }

  /** Any other event that was worked off. */
  settle(event: AnyEventObject, snapshot: Snapshot<unknown>, seq: number, now: number): void {
    const moment = this.#begin(event, snapshot, seq, now)
    this.snapshot = snapshot
    if (event.type === 'model.deltas') {
      moment.reads = 1
      this.reads += 1
      this.#unread.push(event.deltas)
    }
    this.#noteTool(event, seq, now)
    // Other actor logic need not report that it was stopped.
    if (snapshot.status !== 'active' || event.type === 'xstate.stop') {
      this.endedAt = now
      this.#values = this.values
      this.ref = null
    }
    this.look(now)
  }

  /** A run's data on its way: a request that begins or ends in the middle of a step is not missed. */
  note(context: unknown, secrets: readonly string[], now: number): void {
    if (!isRunData(context)) return
    this.before ??= historyOf(context)
    if (context.step === 0) return
    this.catchUp(now)
    const last = this.attempts.at(-1)
    const isOwn = last?.owner === this.id
    if (isOwn && last.holds(context)) {
      last.update(context, now)
      return
    }
    if (isOwn && last.precedes(context)) return
    if (isOwn) {
      last.end(now)
      last.isVoid = last.state.step === context.step
    }
    const marker = context.messages.at(-1)
    const isShown = isOwn && last.state.messages.includes(marker as ChatMessage)
    const attempt = new Attempt(this.id, context, secrets, isShown ? undefined : marker)
    this.attempts.push(attempt)
    for (let { parent } = this as ActorRecord; parent && !parent.isAgent; parent = parent.parent) {
      parent.attempts.push(attempt)
    }
  }

  /** Brings everything up to date, for a page. */
  look(now: number): void {
    this.catchUp(now)
    const attempt = this.attempts.at(-1)
    const moment = this.moments.at(-1)
    if (!attempt || !moment) return
    if (attempt.owner === this.id && this.endedAt !== null) attempt.end(now)
    moment.progress = progressOf(this.attempts, attempt)
  }

  /** Reads what was received since the last time. */
  catchUp(now: number): void {
    const unread = this.#unread
    if (unread.length === 0) return
    this.#unread = []
    const attempt = this.attempts.at(-1)
    if (attempt?.owner !== this.id) return
    attempt.receive(unread)
    const { context } = (this.snapshot ?? {}) as { context?: unknown }
    if (isRunData(context) && attempt.holds(context)) attempt.update(context, now)
    const moment = this.moments.at(-1)
    if (moment) moment.progress = progressOf(this.attempts, attempt)
  }

  /** What the run was given that is not in its data: for another try. */
  get values(): RunValues {
    return this.ref ? valuesOf(this.ref) : (this.#values ?? {})
  }

  get isAgent(): boolean {
    return isRunData((this.snapshot as { context?: unknown } | null)?.context)
  }

  #begin(event: AnyEventObject, snapshot: Snapshot<unknown>, seq: number, at: number): Moment {
    this.catchUp(at)
    const progress = this.moments.at(-1)?.progress ?? [-1, 0, 0]
    const moment: Moment = { seq, at, event, steps: this.steps, snapshot, reads: 0, progress }
    this.steps = []
    this.moments.push(moment)
    if (this.moments.length >= 2 * mostMoments) this.#dropOldest()
    return moment
  }

  /** Not one by one: moving the whole list each time would cost more than keeping it twice. */
  #dropOldest(): void {
    const old = this.moments.splice(0, this.moments.length - mostMoments)
    this.dropped += old.length
    for (const moment of old) {
      for (const [name, count] of takenIn(moment)) {
        this.droppedTaken.set(name, (this.droppedTaken.get(name) ?? 0) + count)
      }
    }
  }

  #noteTool(event: AnyEventObject, seq: number, now: number): void {
    if (event.type === 'tool.progress' && typeof event.callId === 'string') {
      const known = this.toolProgress.get(event.callId) ?? []
      this.toolProgress.set(event.callId, [...known, { seq, value: event.value }].slice(-mostProgress))
    }
    const { context } = (this.snapshot ?? {}) as { context?: unknown }
    for (const id of isRunData(context) ? context.round.started.flat() : []) {
      if (!this.toolTimes.has(id)) this.toolTimes.set(id, { startedAt: now, endedAt: null })
    }
    const isEnd = event.type === 'xstate.done.actor.toolExecutor'
    const results = isEnd ? event.output?.results : event.type === 'tool.finished' ? event.results : []
    for (const result of Array.isArray(results) ? results : []) {
      const times = this.toolTimes.get(result?.id)
      if (times) times.endedAt ??= now
    }
  }
}

/** Whether an event is one more read of the stream that a moment stands for. */
const continues = (moment: Moment, event: AnyEventObject, steps: readonly Microstep[]): boolean => {
  if (moment.reads === 0 || moment.event.type !== event.type || moment.steps.length !== steps.length)
    return false
  const [before] = moment.steps
  const [now] = steps
  return before === now || (before?.hasTarget === false && before.taken[0] === now?.taken[0])
}

const progressOf = (attempts: readonly Attempt[], { text, thinking }: Attempt): Moment['progress'] => [
  attempts.length - 1,
  text.length,
  thinking.length,
]

/** Which transitions a moment took, and how often. Reads in the fast lane take the one that the chart has for them. */
export const takenIn = ({ steps, reads, snapshot }: Moment): [name: string, count: number][] => {
  if (steps.length === 0) return reads === 0 ? [] : readTransition(snapshot, reads)
  const counts = new Map<string, number>()
  for (const name of steps.flatMap(({ taken }) => taken)) {
    counts.set(name, (counts.get(name) ?? 0) + Math.max(1, reads))
  }
  return [...counts]
}

const readTransition = (snapshot: Snapshot<unknown>, reads: number): [string, number][] => {
  for (const node of (snapshot as Partial<AnyMachineSnapshot>)._nodes ?? []) {
    const alternatives = node.transitions.get('model.deltas')
    const index = alternatives?.findIndex(({ guard, target }) => !guard && !target) ?? -1
    if (alternatives && index !== -1) {
      const number = alternatives.length > 1 ? ` #${index + 1}` : ''
      return [[`${node.id} on model.deltas${number}`, reads]]
    }
  }
  return []
}

/** Machines of other copies of XState count, too. */
const machineOf = (logic: unknown): Charted | null => (isCharted(logic) ? logic : null)

export const isCharted = (logic: unknown): logic is Charted =>
  typeof logic === 'object' && logic !== null && 'root' in logic && 'config' in logic

/** Whether a context is that of our lifecycle chart, whatever the machine is called. */
export const isRunData = (context: unknown): context is StreamingState =>
  typeof context === 'object' &&
  context !== null &&
  'answer' in context &&
  'request' in context &&
  'round' in context &&
  'messages' in context &&
  Array.isArray(context.messages)
