import type { Snapshot } from 'xstate'
import type { AgentCommand } from '../../machines/agent/events.ts'
import type { HostedFrom } from '../agent/Agent.ts'
import type { DurableChunk, RunInfo } from '../durable/index.ts'
import type { JsonObject } from '../messages/json.ts'
import { type ChatMessage, textOf, toolCallsOf } from '../messages/messages.ts'
import type { Charted } from '../visualize/transitions.ts'
import { type ActorRecord, type Moment, mostMoments } from './ActorRecord.ts'
import { StoredAttempt } from './StoredAttempt.ts'
import { stateIds, storedSnapshot } from './storedSnapshot.ts'

/** What pages are told of: an actor, or a stored run. */
export type Subject = ActorRecord | StoredRecord

/** What a stored run is shown by. */
export type StoredSetup = {
  id: number
  info: RunInfo
  machine: Charted
  secrets: readonly string[]
  /** Somebody looks at it. */
  onWatch(): void
  /** Its agent is known here. */
  canAsk: boolean
  /** Begins another run from it, and gives its record. */
  again(given: JsonObject): Promise<StoredRecord>
  /** Whether it runs in this process, if it runs. */
  isHere(): boolean
  /** Stops it as if its process had died, and continues it. */
  restart(): boolean
  /** Gives what there is to say about it; empty for nothing. */
  send(command: AgentCommand): Promise<string>
}

/**
 * What is shown of a stored run: its status, by its entry in the list; and, once a page asks, its data, by what is
 * stored of it, and its text, by its stream. The steps that it took before are not stored, so there are no moments of them.
 */
export class StoredRecord {
  readonly id: number
  readonly parent = null
  readonly machine: Charted
  readonly watch: () => void
  readonly send: StoredSetup['send']
  readonly canAsk: boolean
  readonly again: StoredSetup['again']
  readonly restart: StoredSetup['restart']
  readonly #isHere: StoredSetup['isHere']
  /** The run that this one was tried again from. */
  from: StoredRecord | null = null
  info: RunInfo
  version = 0
  snapshot: Snapshot<unknown> | null = null
  moments: Moment[] = []
  dropped = 0
  readonly droppedTaken: ReadonlyMap<string, number> = new Map()
  readonly attempts: StoredAttempt[] = []
  /** What its stream has shown whole. */
  readonly messages: ChatMessage[] = []
  readonly #secrets: readonly string[]
  #isAnswering = false
  /** Of a compaction, until the next answer begins. */
  #marker: ChatMessage | undefined

  constructor({ id, info, machine, secrets, onWatch, send, canAsk, again, restart, isHere }: StoredSetup) {
    this.id = id
    this.info = info
    this.machine = machine
    this.#secrets = secrets
    this.watch = onWatch
    this.send = send
    this.canAsk = canAsk
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

  /** It stands elsewhere now. */
  stand(from: HostedFrom, seq: number): void {
    const snapshot = storedSnapshot(from, this.snapshot)
    const at = this.info.updatedAt.getTime()
    const states = stateIds(this.machine, snapshot)
    this.snapshot = snapshot
    const event = { type: 'stored' }
    this.moments.push({ seq, at, event, steps: [], snapshot, states, reads: 0, progress: this.#progress() })
    if (this.moments.length < 2 * mostMoments) return
    this.dropped += this.moments.length - mostMoments
    this.moments = this.moments.slice(-mostMoments)
  }

  /** The next chunk of its stream. */
  hear({ output, metadata, messages, finishReason }: DurableChunk): void {
    const now = this.info.updatedAt.getTime()
    if (metadata.restart === true) this.#end(now, true)
    const thinking = typeof metadata.thinking === 'string' ? metadata.thinking : ''
    if (output !== '' || thinking !== '') this.#answer().receive(this.#withoutBreak(output), thinking)
    for (const message of messages) this.#take(message, now)
    if (finishReason !== 'unspecified') this.#end(now)
    const moment = this.moments.at(-1)
    if (moment) moment.progress = this.#progress()
  }

  #take(message: ChatMessage, now: number): void {
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
    const shown = this.messages.length
    const begun = new StoredAttempt(this.id, step, before, this.#secrets, this.#marker, shown)
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

  /** Only the stream has a line break before a message after a tool round. */
  #withoutBreak(output: string): string {
    return this.#steps > 0 && this.#answer().raw === '' ? output.replace(/^\n/, '') : output
  }

  #progress(): Moment['progress'] {
    const last = this.attempts.at(-1)
    return [this.attempts.length - 1, last?.text.length ?? 0, last?.thinking.length ?? 0]
  }
}
