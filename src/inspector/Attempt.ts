import type { StreamingState } from '../../machines/streamingState.ts'
import type { Delta } from '../model/delta.ts'
import { SafeText } from './SafeText.ts'
import type { AttemptRow } from './wire.ts'

export const longestText = 1_000_000

/** A call that the model is still writing. */
export type CallDraft = { name: string; arguments: string }

/** What is known of a request beside its text. */
export type AttemptFacts = Omit<
  AttemptRow,
  'index' | 'owner' | 'endedAt' | 'isVoid' | 'text' | 'thinking' | 'drafts'
>

/** One request to a model: what it streamed, when, and what it used. */
export class Attempt {
  /** The id of the agent that asked. */
  readonly owner: number
  readonly text: SafeText
  readonly thinking: SafeText
  drafts: CallDraft[] = []
  /** The run's data as far as it is about this request. */
  state: StreamingState
  endedAt: number | null = null
  isVoid = false

  constructor(owner: number, state: StreamingState, secrets: readonly string[]) {
    this.owner = owner
    this.state = state
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

  /** Takes newer data; once the request is over, the run clears what it had received. */
  update(state: StreamingState, now: number): void {
    if (this.endedAt !== null) return
    this.state = state
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
