import type { StreamingState } from '../../machines/agent/streamingState.ts'
import { prefixSentence } from '../../machines/model/requestPrefix.ts'
import { compactionOf } from '../messages/compaction.ts'
import { type ChatMessage, textOf, toolCallsOf } from '../messages/messages.ts'
import type { Delta } from '../model/delta.ts'
import type { AttemptRow, CompactionRow } from './protocol.ts'
import { hideSecrets, SafeText } from './secrets.ts'

const longestText = 1_000_000
const longestWarning = 1000
const mostWarnings = 20

const cutOff = 'The process was stopped before the answer had ended.'

/** A call that the model is still writing. */
type CallDraft = { name: string; arguments: string }

/** The facts about a request beside its text. */
type AttemptFacts = Omit<
  AttemptRow,
  | 'index'
  | 'owner'
  | 'endedAt'
  | 'compaction'
  | 'isVoid'
  | 'warnings'
  | 'text'
  | 'thinking'
  | 'drafts'
  | 'asked'
  | 'verdicts'
  | 'call'
  | 'calls'
>

/** A request to a model: its streamed text, its times and its usage. */
export class Attempt {
  /** The id of the agent that asked. */
  readonly owner: number
  readonly text: SafeText
  readonly thinking: SafeText
  readonly compaction: CompactionRow | null
  /** The settings that the model did not get as they were given, a sentence each. */
  readonly #warnings: string[] = []
  drafts: CallDraft[] = []
  calls: readonly string[] = []
  /** The newest data of the run that is about this request. */
  state: StreamingState
  endedAt: number | null = null
  isVoid = false
  /** The request, once it is sent. */
  call: { readonly id: number; readonly exchanges: readonly { status: number | null }[] } | null = null
  /** True if its process was stopped before it had ended. */
  isCut = false
  /** The number of messages that the run had added when it asked. */
  readonly before: number
  readonly #secrets: readonly string[]

  /** `marker` is the message of the compaction right before it. */
  constructor(
    owner: number,
    state: StreamingState,
    secrets: readonly string[],
    marker: ChatMessage | undefined,
  ) {
    this.owner = owner
    this.state = state
    this.before = state.messages.length
    this.#secrets = secrets
    this.compaction = compactionRow(marker, secrets)
    this.text = new SafeText(secrets, longestText)
    this.thinking = new SafeText(secrets, longestText)
  }

  get warnings(): string[] {
    const { changed = [] } = this.state.answer.sent ?? {}
    return changed.length > 0 ? [...this.#warnings, prefixSentence({ changed })] : this.#warnings
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
      failure: this.isCut ? cutOff : failure ? String(failure.message) : '',
    }
  }

  /** True if the answer has ended, well or not. */
  get isAnswered(): boolean {
    const { answer, failure } = this.state
    return Boolean(answer.accumulated.finish) || failure !== null
  }

  /** Checks that the run's data is still about this request. A request that failed counts the next try before it begins. */
  holds({ step, request, answer, failure }: StreamingState): boolean {
    const { state } = this
    return (
      step === state.step &&
      answer.askedAt === state.answer.askedAt &&
      request.modelIndex === state.request.modelIndex &&
      (request.attempt === state.request.attempt || failure !== null)
    )
  }

  /** Checks that the run is between this request and the next one: a compaction takes back what it had counted. */
  precedes({ step, request, answer }: StreamingState): boolean {
    const { state } = this
    if (answer.askedAt !== state.answer.askedAt || request.modelIndex !== state.request.modelIndex)
      return false
    return step < state.step || (step === state.step && request.attempt < state.request.attempt)
  }

  /** Takes newer data. Once the request is over, the run clears what it received, so only the price is still taken. */
  update(state: StreamingState, now: number): void {
    // The cost of an answer is known only when it is whole.
    const isPriced = state.answer.accumulated.usage?.cost !== undefined
    if (this.endedAt === null || isPriced) this.state = state
    const answer = state.messages.length > this.before ? state.messages[this.before] : undefined
    if (answer?.role === 'model' && this.calls.length === 0)
      this.calls = toolCallsOf(answer).map(({ id }) => id)
    if (this.endedAt !== null) return
    if (state.answer.accumulated.finish || state.failure || state.abortReason !== '') this.end(now)
  }

  /** Adds reads that came one after the other, all together: each addition costs. */
  receive(reads: readonly unknown[]): void {
    let text = ''
    let thinking = ''
    for (const deltas of reads) {
      if (!Array.isArray(deltas)) continue
      for (const delta of deltas as Delta[]) {
        if (delta.type === 'text') text += delta.text
        else if (delta.type === 'thinking') thinking += delta.text
        else if (delta.type === 'toolDelta') this.#draft(delta)
        else if (delta.type === 'warning') this.#warn(delta)
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

  #warn({ warning: { message, refusal } }: Extract<Delta, { type: 'warning' }>): void {
    const said = `${message}${refusal === undefined ? '' : ` It said: ${refusal}`}`.slice(0, longestWarning)
    if (this.#warnings.length < mostWarnings) this.#warnings.push(hideSecrets(said, this.#secrets))
  }

  #draft({ index, name, arguments: piece }: Extract<Delta, { type: 'toolDelta' }>): void {
    const known = this.drafts[index] ?? { name: '', arguments: '' }
    if (index < 50) {
      this.drafts[index] = { name: name ?? known.name, arguments: (known.arguments + piece).slice(0, 4_000) }
    }
  }
}

/** An answer of a stored run, as its stream shows it. The time of the request and the usage are not stored. */
export class StoredAttempt {
  readonly owner: number
  readonly text: SafeText
  readonly thinking: SafeText
  readonly compaction: CompactionRow | null
  readonly warnings: [] = []
  readonly drafts: [] = []
  readonly call = null
  calls: readonly string[] = []
  /** The messages of its run, and how many of them were there when it began. */
  readonly messages: readonly ChatMessage[]
  readonly before: number
  endedAt: number | null = null
  isVoid = false
  /** The text as it came. */
  raw = ''
  readonly #step: number
  readonly #attempt: number
  #chunks = 0

  /** `attempt` counts the earlier tries of this step; `marker` is the message of the compaction right before it. */
  constructor(
    owner: number,
    step: number,
    attempt: number,
    secrets: readonly string[],
    marker: ChatMessage | undefined,
    messages: readonly ChatMessage[],
    before = messages.length,
  ) {
    this.messages = messages
    this.before = before
    this.owner = owner
    this.compaction = compactionRow(marker, secrets)
    this.#step = step
    this.#attempt = attempt
    this.text = new SafeText(secrets, longestText)
    this.thinking = new SafeText(secrets, longestText)
  }

  /** A number that differs when the page has to get the attempt again. */
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
      failure: this.isVoid
        ? 'The process was stopped, or the connection broke, before the answer had ended.'
        : '',
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

/** The answers that are whole among the messages of a run. */
export const attemptsIn = (
  messages: readonly ChatMessage[],
  owner: number,
  secrets: readonly string[],
  now: number,
): StoredAttempt[] => {
  const attempts: StoredAttempt[] = []
  for (const [before, message] of messages.entries()) {
    if (message.role !== 'model') continue
    const marker = messages[before - 1]
    const attempt = new StoredAttempt(owner, attempts.length + 1, 0, secrets, marker, messages, before)
    const { thinking } = message.metadata ?? {}
    attempt.receive(textOf(message), typeof thinking === 'string' ? thinking : '')
    attempt.calls = toolCallsOf(message).map(({ id }) => id)
    attempt.end(now)
    attempts.push(attempt)
  }
  return attempts
}

/** Characters of a summary, which is sent with every change of its answer. */
const longestSummary = 8_000

/** The compaction that a message marks, if it is such a message. */
const compactionRow = (
  message: ChatMessage | undefined,
  secrets: readonly string[],
): CompactionRow | null => {
  const compaction = message && compactionOf(message)
  if (!compaction) return null
  const { kind, tokensBefore, tokensAfter, reason } = compaction
  const summary = hideSecrets(textOf(message), secrets)
  const isCut = summary.length > longestSummary
  return {
    kind,
    // A history may come from any program.
    tokensBefore: Number(tokensBefore),
    tokensAfter: Number(tokensAfter),
    reason,
    summary: isCut ? `${summary.slice(0, longestSummary)} …` : summary,
  }
}
