import type { Attempt, StoredAttempt } from './Attempt.ts'
import { usageOf } from './actorRow.ts'
import { askedBefore, attemptRow, historyRows } from './conversation.ts'
import { momentRow } from './moments.ts'
import { holdRow } from './policyRows.ts'
import type { AttemptRow, MessageRow, MomentRow, ToolRow, Watched } from './protocol.ts'
import type { Recorder } from './Recorder.ts'
import { StoredRecord, type Subject } from './StoredRecord.ts'
import { questionRows, toolRowsOf } from './toolRows.ts'

type Seen = {
  text: number
  thinking: number
  state: unknown
  endedAt: number | null
  isVoid: boolean
  calls: number
  judged: number
}

const unseen: Seen = { text: 0, thinking: 0, state: null, endedAt: null, isVoid: false, calls: 0, judged: 0 }

/** A page's view of one actor: it remembers what the page has, and gives it the rest. */
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
  /** True if `next` left something out. */
  isBehind = false

  constructor(recorder: Recorder, record: Subject) {
    this.#recorder = recorder
    this.record = record
  }

  /** The news that can be put together until the deadline, a time of `performance.now()`. */
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
        hold: holdRow(this.record.snapshot),
      }),
      ...(history && { history }),
      ...(newAttempts.length > 0 && { attempts: newAttempts }),
      ...(tools.length > 0 && { tools }),
    }
    this.#isFirst = false
    this.#dropped = dropped
    return Object.keys(watched).length > 1 ? watched : null
  }

  /** The moments after the last one that the page has, and that one again if it has grown since. */
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
      rows.push(momentRow(this.record, moment, moments[first + index - 1], this.#recorder))
      this.#seq = moment.seq
      this.#reads = moment.reads
    }
    return rows
  }

  #attempt(attempt: Attempt | StoredAttempt, index: number, deadline: number): AttemptRow[] {
    const seen = this.#attempts.get(attempt) ?? unseen
    const { text, thinking, state, endedAt, isVoid, calls } = attempt
    // Verdicts are on the last answers.
    const isLast = index >= this.record.attempts.length - 2
    const judged = isLast ? (this.#recorder.actors.get(attempt.owner)?.judged.length ?? 0) : seen.judged
    const isSame =
      seen.state === state &&
      seen.text === text.pieces.length &&
      seen.thinking === thinking.pieces.length &&
      seen.endedAt === endedAt &&
      seen.isVoid === isVoid &&
      seen.calls === calls.length &&
      seen.judged === judged
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
      judged,
    })
    return [
      {
        ...attemptRow(this.#recorder, attempt, index),
        text: newText.text,
        thinking: newThinking.text,
        ...(seen === unseen && { asked: askedBefore(this.record, index, this.#recorder.secrets) }),
      },
    ]
  }

  /** The conversation before the run, once. */
  #history(): MessageRow[] | false {
    if (this.#hasHistory) return false
    this.#hasHistory = true
    const rows = historyRows(this.record, this.#recorder.secrets)
    return rows.length > 0 && rows
  }

  /** Calls that are new, or have changed. */
  #newTools(): ToolRow[] {
    this.#isToolsDue = false
    return toolRowsOf(this.#recorder, this.record).filter((row) => {
      const key = JSON.stringify([
        row.status,
        row.startedAt,
        row.endedAt,
        row.child,
        row.progress,
        row.verdicts.length,
      ])
      if (this.#tools.get(row.callId) === key) return false
      this.#tools.set(row.callId, key)
      return true
    })
  }
}

/** The whole conversation of a run without its moments, for a page that shows it inside or beside another one. */
export const wholeRun = (recorder: Recorder, record: Subject): Watched => {
  const { secrets } = recorder
  if (record instanceof StoredRecord) record.watch()
  else recorder.refresh(record)
  const attempts = record.attempts.map(
    (attempt, index): AttemptRow => ({
      ...attemptRow(recorder, attempt, index),
      text: attempt.text.pieces.join(''),
      thinking: attempt.thinking.pieces.join(''),
      asked: askedBefore(record, index, secrets),
    }),
  )
  return {
    id: record.id,
    history: historyRows(record, secrets),
    attempts,
    tools: toolRowsOf(recorder, record),
    questions: questionRows(record, secrets),
    usage: usageOf(record),
  }
}

/** Characters of one text in one message. */
const mostCharacters = 64 * 1024

/** The next pieces of a text, as many as fit, and at least one. */
const piecesFrom = (pieces: readonly string[], start: number): { text: string; end: number } => {
  let text = pieces[start] ?? ''
  let end = Math.min(start + 1, pieces.length)
  while (end < pieces.length && text.length < mostCharacters) text += pieces[end++]
  return { text, end }
}
