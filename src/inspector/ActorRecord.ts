import type { AnyActor, AnyEventObject, Snapshot } from 'xstate'
import type { StreamingState } from '../../machines/agent/streamingState.ts'
import { hostOf, type RunValues, valuesOf } from '../../machines/logic/runEnvironment.ts'
import { isRun } from '../../machines/tools/pendingCalls.ts'
import { isJsonObject } from '../messages/json.ts'
import type { ChatMessage } from '../messages/messages.ts'
import type { Charted } from '../visualize/transitions.ts'
import { Attempt, attemptsIn, StoredAttempt } from './Attempt.ts'
import { isCharted, readTransition } from './chart.ts'
import { WireLog } from './WireLog.ts'

/** Moments of one actor that are kept; older ones are dropped. */
export const mostMoments = 2_000
/** Reads within this time are one moment, so that a stream can be walked through without keeping each read. */
const sliceMs = 250
/** Reports of a call that are kept. */
const mostProgress = 20
/** Reads that may wait until their text is added. */
const mostUnread = 4_096

/** A step of a machine on its way from one event to rest. */
type Microstep = { taken: string[]; snapshot: Snapshot<unknown>; hasTarget: boolean }

/** A step of an actor: one event that it handled, or a number of reads of a stream. */
export type Moment = {
  readonly seq: number
  readonly at: number
  readonly event: AnyEventObject
  readonly steps: readonly Microstep[]
  snapshot: Snapshot<unknown>
  reads: number
  progress: [attempt: number, text: number, thinking: number]
}

/** The memory of one actor. It holds references to snapshots: nothing is copied before a page asks. */
export class ActorRecord {
  readonly id: number
  readonly parent: ActorRecord | null
  readonly root: ActorRecord
  /** Number of actors of the run; only the root counts them. */
  size = 0
  /** The requests to models of the whole run, and their answers. */
  readonly wire: WireLog
  readonly createdAt: number
  /** The actor itself, for commands; null once it has ended. */
  ref: AnyActor | null
  readonly name: string
  /** The tool of an actor that runs a call; empty for any other. */
  readonly toolName: string
  readonly machine: Charted | null
  /** The stored run that it runs, and its store; empty for any other actor. */
  readonly run: string
  moments: Moment[] = []
  /** Moments no longer kept, and the transitions they took. */
  dropped = 0
  readonly droppedTaken = new Map<string, number>()
  /** Requests of this actor and of the agents it is made of, but not of agents that an agent uses as tools. */
  readonly attempts: (Attempt | StoredAttempt)[] = []
  /** The conversation before the run. */
  before: ChatMessage[] | null = null
  readonly toolProgress = new Map<string, { seq: number; value: unknown }[]>()
  readonly toolTimes = new Map<string, { startedAt: number; endedAt: number | null }>()
  steps: Microstep[] = []
  /** The last event that was sent to it: a crash is attributed to it. */
  sent: AnyEventObject | null = null
  snapshot: Snapshot<unknown> | null = null
  #values: RunValues | null = null
  /** The run that this one was started again from. */
  from: ActorRecord | null = null
  /** The model that was asked last. */
  model = ''
  /** The record of its policy, if it has one. */
  policy: ActorRecord | null = null
  /** The events with verdicts of its policy, and how many requests it had made by then. */
  readonly judged: { seq: number; event: AnyEventObject; attempts: number }[] = []
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
    this.machine = isCharted(ref.logic) ? ref.logic : null
    this.run = parent ? '' : storedRunOf(ref)
    this.name = String(ref.id === ref.sessionId ? (this.machine?.id ?? ref.id) : ref.id)
    if (parent && this.name === 'policy' && this.machine) parent.policy = this
    const { call }: { call?: { name?: unknown } } = ref.options?.input ?? {}
    this.toolName = this.name.startsWith('call:') && typeof call?.name === 'string' ? call.name : ''
  }

  /** Continues with the next actor of the same stored run, which has stopped at a wait or was killed. */
  continueWith(ref: AnyActor): void {
    this.ref = ref
    this.endedAt = null
    this.sent = null
    this.steps = []
    const last = this.attempts.at(-1)
    // An answer that was cut off is asked for again.
    if (last instanceof Attempt && !last.isAnswered) last.isVoid = last.isCut = true
  }

  /** Adds a read of a stream. This is the hot path: everything else waits until a page asks. */
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

  /** Adds any other event that was handled. */
  settle(event: AnyEventObject, snapshot: Snapshot<unknown>, seq: number, now: number): void {
    const moment = this.#begin(event, snapshot, seq, now)
    this.snapshot = snapshot
    if (event.type === 'model.deltas') {
      moment.reads = 1
      this.reads += 1
      this.#unread.push(event.deltas)
    }
    this.#noteTool(event, seq, now)
    if (event.type === 'policy.verdict' && this.judged.length < mostMoments)
      this.judged.push({ seq, event, attempts: this.attempts.length })
    // Other actor logic need not report that it was stopped.
    if (snapshot.status !== 'active' || event.type === 'xstate.stop') {
      this.endedAt = now
      this.#values = this.values
      this.ref = null
    }
    this.refresh(now)
  }

  /** Looks at a run's data in the middle of a step: otherwise a request that begins and ends there would be missed. */
  note(context: unknown, secrets: readonly string[], now: number): void {
    if (!isRun(context)) return
    this.before ??= historyOf(context)
    if (context.step === 0) return
    this.catchUp(now)
    // A run that was continued from a snapshot has answers from before.
    if (this.attempts.length === 0) this.#add(...attemptsIn(context.messages, this.id, secrets, now))
    const last = this.attempts.at(-1)
    const own = last?.owner === this.id ? last : undefined
    if (own instanceof StoredAttempt && answersIn(context) >= context.step) return
    if (own instanceof Attempt) {
      if (!own.isVoid && own.holds(context)) {
        own.update(context, now)
        return
      }
      if (own.precedes(context)) return
      own.end(now)
      own.isVoid = own.state.step === context.step
    }
    const marker = context.messages.at(-1)
    const isShown = own instanceof Attempt && own.state.messages.includes(marker as ChatMessage)
    this.#add(new Attempt(this.id, context, secrets, isShown ? undefined : marker))
  }

  #add(...attempts: (Attempt | StoredAttempt)[]): void {
    this.attempts.push(...attempts)
    for (let { parent } = this as ActorRecord; parent && !parent.isAgent; parent = parent.parent)
      parent.attempts.push(...attempts)
  }

  /** Brings everything up to date, for a page. */
  refresh(now: number): void {
    this.catchUp(now)
    const attempt = this.attempts.at(-1)
    const moment = this.moments.at(-1)
    if (!attempt || !moment) return
    if (attempt.owner === this.id && this.endedAt !== null) attempt.end(now)
    moment.progress = progressOf(this.attempts, attempt)
  }

  /** Adds the text of the reads since the last time. */
  catchUp(now: number): void {
    const unread = this.#unread
    if (unread.length === 0) return
    this.#unread = []
    const attempt = this.attempts.at(-1)
    if (attempt?.owner !== this.id || !(attempt instanceof Attempt)) return
    attempt.receive(unread)
    const { context } = (this.snapshot ?? {}) as { context?: unknown }
    if (isRun(context) && attempt.holds(context)) attempt.update(context, now)
    const moment = this.moments.at(-1)
    if (moment) moment.progress = progressOf(this.attempts, attempt)
  }

  /** The values that the run was given beside its data: another try needs them. */
  get values(): RunValues {
    return this.ref ? valuesOf(this.ref) : (this.#values ?? {})
  }

  get isAgent(): boolean {
    return isRun((this.snapshot as { context?: unknown } | null)?.context)
  }

  #begin(event: AnyEventObject, snapshot: Snapshot<unknown>, seq: number, at: number): Moment {
    this.catchUp(at)
    const progress = this.moments.at(-1)?.progress ?? [-1, 0, 0]
    const shown = this.machine ? withoutContext(event) : event
    const moment: Moment = { seq, at, event: shown, steps: this.steps, snapshot, reads: 0, progress }
    this.steps = []
    this.moments.push(moment)
    if (this.moments.length >= 2 * mostMoments) this.#dropOldest()
    return moment
  }

  /** Drops many moments at a time: moving the whole list for each would cost more than keeping twice as many. */
  #dropOldest(): void {
    const old = this.moments.splice(0, this.moments.length - mostMoments)
    this.dropped += old.length
    for (const moment of old) {
      for (const [name, count] of takenIn(moment, this.machine)) {
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
    for (const id of isRun(context) ? context.round.started.flat() : []) {
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

/** Checks that an event is one more read of the stream that a moment is about. */
const continues = (moment: Moment, event: AnyEventObject, steps: readonly Microstep[]): boolean => {
  if (moment.reads === 0 || moment.event.type !== event.type || moment.steps.length !== steps.length)
    return false
  const [before] = moment.steps
  const [now] = steps
  return before === now || (before?.hasTarget === false && before.taken[0] === now?.taken[0])
}

const progressOf = (
  attempts: ActorRecord['attempts'],
  { text, thinking }: Pick<Attempt, 'text' | 'thinking'>,
): Moment['progress'] => [attempts.length - 1, text.length, thinking.length]

/** The stored run of an actor that a store hosts, as `store id`. */
const storedRunOf = (ref: AnyActor): string => {
  const { store } = hostOf(ref)
  if (store === undefined) return ''
  const { input, snapshot }: { input?: unknown; snapshot?: unknown } = ref.options ?? {}
  const { context }: { context?: unknown } = Object(snapshot)
  const { options, input: given }: { options?: unknown; input?: unknown } = Object(context)
  const id: unknown = Object(input).id ?? Object(options).id ?? Object(given).id
  return typeof id === 'string' ? storedRunKey(store, id) : ''
}

/** The name of a stored run that no other one has, in any store. */
export const storedRunKey = (store: string, id: string): string => `${store} ${id}`

const answersIn = ({ messages }: StreamingState): number =>
  messages.filter(({ role }) => role === 'model').length

/** The transitions that a moment took, and how often. Reads on the fast path take the one that the chart has for them. */
export const takenIn = (
  { steps, reads, snapshot }: Moment,
  machine: Charted | null,
): [name: string, count: number][] => {
  if (steps.length === 0) {
    const name = reads > 0 ? readTransition(machine, snapshot) : undefined
    return name === undefined ? [] : [[name, reads]]
  }
  const counts = new Map<string, number>()
  for (const name of steps.flatMap(({ taken }) => taken)) {
    counts.set(name, (counts.get(name) ?? 0) + Math.max(1, reads))
  }
  return [...counts]
}

/** The conversation that a run began with, by data that was not compacted yet. */
export const historyOf = ({ history, messages }: StreamingState): ChatMessage[] =>
  history.slice(0, Math.max(0, history.length - messages.length))

/** The start of a run without the context of its tools, which may hold anything: tokens of a user, connections. */
const withoutContext = (event: AnyEventObject): AnyEventObject => {
  if (event.type !== 'xstate.init' || !isJsonObject(event.input)) return event
  const { context: _, ...input } = event.input
  return { ...event, input }
}
