import type { Snapshot } from 'xstate'
import type { AgentCommand } from '../../machines/agent/events.ts'
import type { HostedFrom } from '../agent/options.ts'
import type { DurableChunk, RunInfo } from '../durable/index.ts'
import type { JsonObject } from '../messages/json.ts'
import { type ChatMessage, textOf, toolCallsOf } from '../messages/messages.ts'
import type { Charted } from '../visualize/transitions.ts'
import { type ActorRecord, type Moment, mostMoments } from './ActorRecord.ts'
import { StoredAttempt } from './Attempt.ts'

/** Anything that a page may watch: an actor, or a stored run. */
export type Subject = ActorRecord | StoredRecord

/** The entry of a stored run, and what can be done with it. */
type StoredSetup = {
  id: number
  info: RunInfo
  /** The run or the task that started it, if it is a task. */
  parent: StoredRecord | null
  /** The name that the record of its actor has, if this process runs it. */
  key: string
  machine: Charted
  secrets: readonly string[]
  /** Called when a page shows it. */
  onWatch(): void
  /** True if it is shown because a person asked for it: it is not the newest run. */
  isOld: boolean
  /** True if its agent is known here. */
  canAsk: boolean
  /** Starts another run from it, and returns its record. */
  again(given: JsonObject): Promise<StoredRecord>
  /** True if this process runs the stored runs. */
  isHere(): boolean
  /** Stops it as if its process had died, and continues it. */
  restart(): boolean
  /** Sends a command. Returns a note for the person, or an empty string. */
  send(command: AgentCommand): Promise<string>
}

/**
 * A stored run as pages show it: its status comes from its entry in the list; once a page asks, its data comes from its
 * snapshot and its text from its stream. Its earlier steps are not stored, so there are no moments of them.
 */
export class StoredRecord {
  readonly id: number
  readonly key: string
  readonly parent: StoredRecord | null
  readonly machine: Charted
  readonly watch: () => void
  readonly send: StoredSetup['send']
  readonly canAsk: boolean
  readonly isOld: boolean
  readonly again: StoredSetup['again']
  readonly restart: StoredSetup['restart']
  readonly #isHere: StoredSetup['isHere']
  /** The run that this one was started again from. */
  from: StoredRecord | null = null
  info: RunInfo
  version = 0
  snapshot: Snapshot<unknown> | null = null
  moments: Moment[] = []
  dropped = 0
  readonly droppedTaken: ReadonlyMap<string, number> = new Map()
  readonly attempts: StoredAttempt[] = []
  /** The messages that its stream has shown whole. */
  readonly messages: ChatMessage[] = []
  readonly #secrets: readonly string[]
  #isAnswering = false
  /** The marker of a compaction, until the next answer begins. */
  #marker: ChatMessage | undefined

  constructor(setup: StoredSetup) {
    const { id, key, parent, info, machine, secrets, onWatch, send, canAsk, isOld, again, restart, isHere } =
      setup
    this.id = id
    this.parent = parent
    this.key = key
    this.info = info
    this.machine = machine
    this.#secrets = secrets
    this.watch = onWatch
    this.send = send
    this.canAsk = canAsk
    this.isOld = isOld
    this.again = again
    this.restart = restart
    this.#isHere = isHere
  }

  get isOver(): boolean {
    return this.info.status !== 'running' && this.info.status !== 'waiting'
  }

  get canRestart(): boolean {
    return this.info.status === 'running' && this.#isHere()
  }

  /** Adds what is stored of the run now as a moment. */
  update(from: HostedFrom, seq: number): void {
    const snapshot = storedSnapshot(from, this.snapshot)
    const at = this.info.updatedAt.getTime()
    this.snapshot = snapshot
    const event = { type: 'stored' }
    this.moments.push({ seq, at, event, steps: [], snapshot, reads: 0, progress: this.#progress() })
    if (this.moments.length < 2 * mostMoments) return
    this.dropped += this.moments.length - mostMoments
    this.moments = this.moments.slice(-mostMoments)
  }

  /** Adds the next chunk of its stream. */
  receive({ output, metadata, messages, finishReason }: DurableChunk): void {
    const now = this.info.updatedAt.getTime()
    if (metadata.restart === true) this.#end(now, true)
    const thinking = typeof metadata.thinking === 'string' ? metadata.thinking : ''
    if (output !== '' || thinking !== '') this.#answer().receive(this.#withoutBreak(output), thinking)
    for (const message of messages) this.#addMessage(message, now)
    if (finishReason !== 'unspecified') this.#end(now)
    const moment = this.moments.at(-1)
    if (moment) moment.progress = this.#progress()
  }

  #addMessage(message: ChatMessage, now: number): void {
    const text = textOf(message)
    if (message.role !== 'model') {
      this.messages.push(message)
      if (message.role === 'system') this.#marker = message
      return
    }
    // Its process died before the rest of it was shown.
    if (this.#isAnswering && this.attempts.at(-1)?.raw !== text) this.#end(now, true)
    const answer = this.#answer()
    if (answer.raw !== text) answer.receive(text, '')
    answer.calls = toolCallsOf(message).map(({ id }) => id)
    this.#end(now)
    this.messages.push(message)
  }

  /** The answer that is being given. */
  #answer(): StoredAttempt {
    const last = this.attempts.at(-1)
    if (last && this.#isAnswering) return last
    const step = this.#steps + 1
    const before = this.attempts.filter(({ isVoid, facts }) => isVoid && facts.step === step).length
    const begun = new StoredAttempt(this.id, step, before, this.#secrets, this.#marker, this.messages)
    this.#marker = undefined
    this.attempts.push(begun)
    this.#isAnswering = true
    return begun
  }

  #end(now: number, isVoid = false): void {
    if (this.#isAnswering) this.attempts.at(-1)?.end(now, isVoid)
    this.#isAnswering = false
  }

  get #steps(): number {
    return this.messages.filter(({ role }) => role === 'model').length
  }

  /** Removes the line break before a message after a tool round: only the stream has it. */
  #withoutBreak(output: string): string {
    return this.#steps > 0 && this.#answer().raw === '' ? output.replace(/^\n/, '') : output
  }

  #progress(): Moment['progress'] {
    const last = this.attempts.at(-1)
    return [this.attempts.length - 1, last?.text.length ?? 0, last?.thinking.length ?? 0]
  }
}

type StoredSnapshot = Snapshot<unknown> & { context?: unknown }

/** The snapshot or input that a stored run continues from, as the snapshot of an actor. `before` is the one that was shown last. */
const storedSnapshot = (from: HostedFrom, before: StoredSnapshot | null): StoredSnapshot => {
  const now: StoredSnapshot =
    'input' in from ? { status: 'active', output: undefined, error: undefined, context: from } : from.snapshot
  return { ...now, context: reuseEqual(before?.context, now.context) }
}

/** Values deeper than this are not compared. */
const deepest = 100

/**
 * The second value, with the objects of the first one wherever they are equal. Otherwise everything that was read from the
 * store again would be another object, and would count as changed.
 */
const reuseEqual = (before: unknown, after: unknown, depth = 0): unknown => {
  if (!isBranch(before) || !isBranch(after) || depth > deepest) return after
  if (Array.isArray(before) !== Array.isArray(after)) return after
  const old = new Map(Object.entries(before))
  const parts = Object.entries(after).map(
    ([key, part]) => [key, reuseEqual(old.get(key), part, depth + 1)] as const,
  )
  const isSame =
    parts.length === old.size && parts.every(([key, part]) => old.has(key) && Object.is(old.get(key), part))
  if (isSame) return before
  return Array.isArray(after) ? parts.map(([, part]) => part) : Object.fromEntries(parts)
}

const isBranch = (value: unknown): value is object => typeof value === 'object' && value !== null
