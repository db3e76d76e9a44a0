import type { ChatMessage } from '../messages/messages.ts'
import type { AttemptFacts } from './Attempt.ts'
import { longestText } from './Attempt.ts'
import { compactionRow } from './compactionRow.ts'
import { SafeText } from './SafeText.ts'
import type { CompactionRow } from './wire.ts'

/** One answer of a stored run, as its stream tells it: when it was asked for, and what it used, is not stored. */
export class StoredAttempt {
  readonly owner: number
  readonly text: SafeText
  readonly thinking: SafeText
  readonly compaction: CompactionRow | null
  readonly drafts: [] = []
  calls: readonly string[] = []
  /** How many messages the stream had shown when it began. */
  readonly before: number
  endedAt: number | null = null
  isVoid = false
  /** The text as it came. */
  raw = ''
  readonly #step: number
  readonly #attempt: number
  #chunks = 0

  /** `attempt`: how often this step was begun before; `marker`: of the compaction right before it. */
  constructor(
    owner: number,
    step: number,
    attempt: number,
    secrets: readonly string[],
    marker: ChatMessage | undefined,
    before: number,
  ) {
    this.before = before
    this.owner = owner
    this.compaction = compactionRow(marker, secrets)
    this.#step = step
    this.#attempt = attempt
    this.text = new SafeText(secrets, longestText)
    this.thinking = new SafeText(secrets, longestText)
  }

  /** Differs when there is something new to tell. */
  get state(): number {
    return this.#chunks
  }

  get facts(): AttemptFacts {
    return {
      step: this.#step,
      attempt: this.#attempt,
      modelIndex: 0,
      startedAt: null,
      firstChunkAt: null,
      chunks: this.#chunks,
      usage: null,
      finish: '',
      failure: '',
    }
  }

  receive(text: string, thinking: string): void {
    this.#chunks += 1
    this.raw += text
    this.text.add(text)
    this.thinking.add(thinking)
  }

  end(now: number, isVoid = false): void {
    this.endedAt ??= now
    this.isVoid ||= isVoid
    this.text.end()
    this.thinking.end()
  }
}
