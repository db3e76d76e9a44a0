import type { Usage } from '../messages/result.ts'
import type { Attempt } from './Attempt.ts'
import { questionRows } from './questionRows.ts'
import type { Recorder } from './Recorder.ts'
import { askedBefore, attemptRow, historyRows, momentRow, toolRowsOf } from './rows.ts'
import type { StoredAttempt } from './StoredAttempt.ts'
import { StoredRecord, type Subject } from './StoredRecord.ts'
import type { AttemptRow, MessageRow, MomentRow, ToolRow, Watched } from './wire.ts'

type Seen = {
  text: number
  thinking: number
  state: unknown
  endedAt: number | null
  isVoid: boolean
  calls: number
}

const unseen: Seen = { text: 0, thinking: 0, state: null, endedAt: null, isVoid: false, calls: 0 }

/** How far one page knows one actor. */
export class Watch {
  readonly record: Subject
  readonly #recorder: Recorder
  #isFirst = true
  #isToolsDue = false
  #seq = 0
  #reads = 0
  #dropped = 0
  #hasHistory = false
  readonly #attempts = new Map<Attempt | StoredAttempt, Seen>()
  readonly #tools = new Map<string, string>()
  /** There is more to tell than what `next` gave. */
  isBehind = false

  constructor(recorder: Recorder, record: Subject) {
    this.#recorder = recorder
    this.record = record
  }

  /** What is new, as far as it can be put together until the deadline, a time of `performance.now()`. */
  next(deadline = Number.POSITIVE_INFINITY): Watched | null {
    this.isBehind = false
    const { id, dropped, droppedTaken, attempts } = this.record
    const isFirst = this.#isFirst
    const isDropped = dropped !== this.#dropped
    const newAttempts = attempts.flatMap((attempt, index) => this.#attempt(attempt, index, deadline))
    const moments = this.#moments(deadline)
    const history = newAttempts.length > 0 && this.#history()
    // While an answer streams, nothing happens to the calls; of a long run there are many.
    const isOnlyReads = !isFirst && moments.every(({ reads }) => reads > 0)
    this.#isToolsDue ||= moments.length + newAttempts.length > 0 && !isOnlyReads
    const tools = this.#isToolsDue && !this.isBehind ? this.#newTools() : []
    const watched: Watched = {
      id,
      ...(isFirst && { isFirst }),
      ...((isFirst || isDropped) && { dropped: { moments: dropped, taken: [...droppedTaken] } }),
      ...(moments.length > 0 && {
        moments,
        usage: usageOf(this.record),
        questions: questionRows(this.record, this.#recorder.secrets),
      }),
      ...(history && { history }),
      ...(newAttempts.length > 0 && { attempts: newAttempts }),
      ...(tools.length > 0 && { tools }),
    }
    this.#isFirst = false
    this.#dropped = dropped
    return Object.keys(watched).length > 1 ? watched : null
  }

  /** Those after the last that was told, and that one again if it has grown since. */
  #moments(deadline: number): MomentRow[] {
    const { moments } = this.record
    let first = moments.length
    while (first > 0 && (moments[first - 1]?.seq ?? 0) > this.#seq) first -= 1
    const last = moments[first - 1]
    if (last && (last.reads !== this.#reads || moments.length === 0)) first -= 1
    const rows: MomentRow[] = []
    for (const [index, moment] of moments.slice(first).entries()) {
      if (index > 0 && performance.now() > deadline) {
        this.isBehind = true
        break
      }
      rows.push(momentRow(moment, moments[first + index - 1], this.#recorder))
      this.#seq = moment.seq
      this.#reads = moment.reads
    }
    return rows
  }

  #attempt(attempt: Attempt | StoredAttempt, index: number, deadline: number): AttemptRow[] {
    const seen = this.#attempts.get(attempt) ?? unseen
    const { text, thinking, state, endedAt, isVoid, calls } = attempt
    const isSame =
      seen.state === state &&
      seen.text === text.pieces.length &&
      seen.thinking === thinking.pieces.length &&
      seen.endedAt === endedAt &&
      seen.isVoid === isVoid &&
      seen.calls === calls.length
    if (isSame) return []
    if (performance.now() > deadline) {
      this.isBehind = true
      return []
    }
    const newText = piecesFrom(text.pieces, seen.text)
    const newThinking = piecesFrom(thinking.pieces, seen.thinking)
    this.isBehind ||= newText.end + newThinking.end < text.pieces.length + thinking.pieces.length
    this.#attempts.set(attempt, {
      text: newText.end,
      thinking: newThinking.end,
      state,
      endedAt,
      isVoid,
      calls: calls.length,
    })
    return [
      {
        ...attemptRow(attempt, index, this.#recorder.secrets),
        text: newText.text,
        thinking: newThinking.text,
        ...(seen === unseen && { asked: askedBefore(this.record, index, this.#recorder.secrets) }),
      },
    ]
  }

  /** Of the conversation before the run, once. */
  #history(): MessageRow[] | false {
    if (this.#hasHistory) return false
    this.#hasHistory = true
    const rows = historyRows(this.record, this.#recorder.secrets)
    return rows.length > 0 && rows
  }

  /** Calls that are new, or not as they were told. */
  #newTools(): ToolRow[] {
    this.#isToolsDue = false
    return toolRowsOf(this.#recorder, this.record).filter((row) => {
      const key = JSON.stringify([row.status, row.startedAt, row.endedAt, row.child, row.progress])
      if (this.#tools.get(row.callId) === key) return false
      this.#tools.set(row.callId, key)
      return true
    })
  }
}

/** Of one text, in one message. */
const mostCharacters = 64 * 1024

/** The next pieces of a text, as many as fit, and at least one. */
const piecesFrom = (pieces: readonly string[], start: number): { text: string; end: number } => {
  let text = pieces[start] ?? ''
  let end = Math.min(start + 1, pieces.length)
  while (end < pieces.length && text.length < mostCharacters) text += pieces[end++]
  return { text, end }
}

export const usageOf = (subject: Subject): Usage | null => {
  if (subject instanceof StoredRecord) return subject.info.usage ?? null
  const { context } = (subject.snapshot ?? {}) as { context?: { totals?: { usage?: Usage | null } } }
  return context?.totals?.usage ?? null
}
