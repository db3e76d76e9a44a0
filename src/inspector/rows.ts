import type { AnyEventObject, Snapshot } from 'xstate'
import type { ChatMessage } from '../messages/messages.ts'
import { type ActorRecord, type Moment, takenIn } from './ActorRecord.ts'
import { Attempt } from './Attempt.ts'
import { changesBetween } from './changes.ts'
import { conversationBefore } from './conversation.ts'
import { hideSecrets } from './hideSecrets.ts'
import { isSaid, messageRow } from './messageRow.ts'
import type { Recorder } from './Recorder.ts'
import { readable } from './readable.ts'
import type { StoredAttempt } from './StoredAttempt.ts'
import { StoredRecord, type Subject } from './StoredRecord.ts'
import { stateIdsOf, stateOf } from './stateOf.ts'
import { storedTools } from './storedTools.ts'
import { toolRows } from './toolRows.ts'
import type { AttemptRow, MessageRow, MomentRow, PastMoment, ToolRow } from './wire.ts'

export const momentRow = (moment: Moment, before: Moment | undefined, recorder: Recorder): MomentRow => {
  const { seq, at, event, reads, steps, snapshot, states, progress } = moment
  const path = [
    ...steps.filter(({ hasTarget }) => hasTarget).map((step) => stateOf(step.snapshot)),
    stateOf(snapshot),
  ]
  return {
    seq,
    at,
    event: eventName(event),
    from: recorder.senderOf(event),
    reads,
    states: [...(states ?? stateIdsOf(snapshot))],
    path: path.filter((state, index) => state !== path[index - 1]),
    taken: takenIn(moment),
    changes: before ? changesBetween(contextOf(before), contextOf(moment), recorder.secrets) : [],
    progress,
  }
}

/** An event in a word; what an agent's run tells its orchestrator is only a wrapping. */
const eventName = ({ type, ...event }: AnyEventObject): string =>
  type === 'run.emitted' && typeof event.emitted?.type === 'string'
    ? `run.emitted: ${event.emitted.type}`
    : type

const contextOf = (moment: Moment | undefined): unknown =>
  (moment?.snapshot as { context?: unknown } | undefined)?.context

export const attemptRow = (
  { owner, facts, endedAt, compaction, isVoid, drafts, calls }: Attempt | StoredAttempt,
  index: number,
  secrets: readonly string[],
): Omit<AttemptRow, 'text' | 'thinking' | 'asked'> => ({
  index,
  owner,
  ...facts,
  failure: hideSecrets(facts.failure, secrets).slice(0, 500),
  endedAt,
  compaction,
  isVoid,
  drafts: drafts.filter((draft) => draft !== undefined),
  calls: [...calls],
})

/** What a person said between an attempt and the one before it. */
export const askedBefore = (record: Subject, index: number, secrets: readonly string[]): MessageRow[] => {
  const attempts: readonly (Attempt | StoredAttempt)[] = record.attempts
  const attempt = attempts[index]
  if (!attempt) return []
  const last = attempts.slice(0, index).findLast(({ owner }) => owner === attempt.owner)
  const messages = record instanceof StoredRecord ? record.messages : messagesAt(attempt)
  return messages
    .slice(last?.before ?? 0, attempt.before)
    .filter(isSaid)
    .map((each) => messageRow(each, secrets))
}

/** Messages of a long history that are shown, the last ones, and what is shown of each. */
const mostHistory = 200
const longestMessage = 4_000

/** The conversation before the run, without its pictures. */
export const historyRows = (record: Subject, secrets: readonly string[]): MessageRow[] => {
  const { context } = (record.snapshot ?? {}) as { context?: unknown }
  const history = conversationBefore(record, context)
  return history.slice(-mostHistory).map((message) => {
    const { text, ...row } = messageRow(message, secrets)
    const images = row.images.map(({ mimeType }) => `Picture: ${mimeType}`)
    const isCut = text.length > longestMessage
    return {
      ...row,
      text: isCut ? `${text.slice(0, longestMessage)} …` : text,
      images: [],
      notes: [...images, ...row.notes],
    }
  })
}

/** What a run had added to the conversation by an attempt. */
export const messagesAt = (attempt: Attempt | StoredAttempt): readonly ChatMessage[] =>
  attempt instanceof Attempt ? attempt.state.messages : []

/** The tool calls of a subject and of the agents it is made of: as they stand, or as they stood at a moment. */
export const toolRowsOf = (recorder: Recorder, record: Subject, asOf?: number): ToolRow[] => {
  if (record instanceof StoredRecord) return storedTools(record, snapshotAt(record, asOf), recorder.secrets)
  const owners = new Set(record.attempts.map(({ owner }) => owner))
  return [...owners].flatMap((id) => {
    const owner = recorder.actors.get(id)
    if (!owner) return []
    const snapshot = snapshotAt(owner, asOf)
    const children = childrenOfCalls(recorder, owner)
    return toolRows(
      owner,
      snapshot,
      recorder.secrets,
      (callId) => children.get(`call:${callId}`) ?? null,
      asOf,
    )
  })
}

const snapshotAt = ({ snapshot, moments }: Subject, asOf: number | undefined): Snapshot<unknown> | null =>
  asOf === undefined ? snapshot : (moments.findLast(({ seq }) => seq <= asOf)?.snapshot ?? null)

/** What calls run that is worth a look, by the names of the calls: sub-agents. */
const childrenOfCalls = ({ actors }: Recorder, owner: ActorRecord): Map<string, number> => {
  const children = new Map<string, number>()
  for (const { id, parent } of actors.values()) {
    if (parent && parent.root === owner.root && !children.has(parent.name)) children.set(parent.name, id)
  }
  return children
}

/** An actor as it was: everything that is too much to be told of every moment. */
export const pastMoment = (recorder: Recorder, record: Subject, seq: number): PastMoment | null => {
  const moment = record.moments.find((each) => each.seq === seq)
  if (!moment) return null
  const { snapshot, event } = moment
  const { value, context, output, error } = snapshot as { [name: string]: unknown }
  const { secrets } = recorder
  return {
    seq,
    status: snapshot.status,
    value: readable(value, secrets),
    event: readable(event, secrets),
    context: readable(context, secrets),
    output: readable(output, secrets),
    error: readable(error, secrets),
    // The page has the pictures already.
    tools: toolRowsOf(recorder, record, seq).map((row) => ({ ...row, images: [] })),
  }
}
