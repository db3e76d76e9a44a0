import type { StreamingState } from '../../machines/agent/streamingState.ts'
import { type ChatMessage, toolCallsOf } from '../messages/messages.ts'
import type { Delta } from '../model/delta.ts'
import { compactionRow } from './compactionRow.ts'
import { SafeText } from './SafeText.ts'
import type { AttemptRow, CompactionRow } from './wire.ts'

export const longestText = 1_000_000

/** A call that the model is still writing. */
export type CallDraft = { name: string; arguments: string }

/** What is known of a request beside its text. */
export type AttemptFacts = Omit<
  AttemptRow,
  'index' | 'owner' | 'endedAt' | 'compaction' | 'isVoid' | 'text' | 'thinking' | 'drafts' | 'asked' | 'calls'
>

/** One request to a model: what it streamed, when, and what it used. */
export class Attempt {
  /** The id of the agent that asked. */
  readonly owner: number
  readonly text: SafeText
  readonly thinking: SafeText
  readonly compaction: CompactionRow | null
  drafts: CallDraft[] = []
  calls: readonly string[] = []
  /** The run's data as far as it is about this request. */
  state: StreamingState
  endedAt: number | null = null
  isVoid = false
  /** How many messages the run had added when it asked. */
  readonly before: number

  /** `marker`: of the compaction right before it. */
  constructor(
    owner: number,
    state: StreamingState,
    secrets: readonly string[],
    marker: ChatMessage | undefined,
  ) {
    this.owner = owner
    this.state = state
    this.before = state.messages.length
    this.compaction = compactionRow(marker, secrets)
    this.text = new SafeText(secrets, longestText)
    this.thinking = new SafeText(secrets, longestText)
  }

  get facts(): AttemptFacts {
    const { step, request, answer, failure } = this.state
    const { usage, finish } = answer.accumulated
    return {
      step,
      attempt: request.attempt,
      modelIndex: request.modelIndex,
      startedAt: answer.askedAt,
      firstChunkAt: answer.firstChunkAt,
      chunks: answer.chunks,
      usage,
      finish: finish?.raw ?? finish?.reason ?? '',
      failure: failure ? String(failure.message) : '',
    }
  }

  /** Whether the run's data is still about this request. One that failed counts the next try before it begins it. */
  holds({ step, request, answer, failure }: StreamingState): boolean {
    const { state } = this
    return (
      step === state.step &&
      answer.askedAt === state.answer.askedAt &&
      request.modelIndex === state.request.modelIndex &&
      (request.attempt === state.request.attempt || failure !== null)
    )
  }

  /** Whether the run is between this request and the next one: a compaction takes back what it had counted. */
  precedes({ step, request, answer }: StreamingState): boolean {
    const { state } = this
    if (answer.askedAt !== state.answer.askedAt || request.modelIndex !== state.request.modelIndex)
      return false
    return step < state.step || (step === state.step && request.attempt < state.request.attempt)
  }

  /** Takes newer data; once the request is over, the run clears what it had received. */
  update(state: StreamingState, now: number): void {
    // What an answer cost is known only when it is whole.
    const isPriced = state.answer.accumulated.usage?.cost !== undefined
    if (this.endedAt === null || isPriced) this.state = state
    const answer = state.messages.length > this.before ? state.messages[this.before] : undefined
    if (answer?.role === 'model' && this.calls.length === 0)
      this.calls = toolCallsOf(answer).map(({ id }) => id)
    if (this.endedAt !== null) return
    if (state.answer.accumulated.finish || state.failure || state.abortReason !== '') this.end(now)
  }

  /** Reads that came one after the other: looked at together, because each look costs. */
  receive(reads: readonly unknown[]): void {
    let text = ''
    let thinking = ''
    for (const deltas of reads) {
      if (!Array.isArray(deltas)) continue
      for (const delta of deltas as Delta[]) {
        if (delta.type === 'text') text += delta.text
        else if (delta.type === 'thinking') thinking += delta.text
        else if (delta.type === 'toolDelta') this.#draft(delta)
      }
    }
    if (text !== '') this.text.add(text)
    if (thinking !== '') this.thinking.add(thinking)
  }

  end(now: number): void {
    this.endedAt ??= now
    this.drafts = []
    this.text.end()
    this.thinking.end()
  }

  #draft({ index, name, arguments: piece }: Extract<Delta, { type: 'toolDelta' }>): void {
    const known = this.drafts[index] ?? { name: '', arguments: '' }
    if (index < 50) {
      this.drafts[index] = { name: name ?? known.name, arguments: (known.arguments + piece).slice(0, 4_000) }
    }
  }
}
