import type { Snapshot } from 'xstate'
import { limitSentence, reachedIn } from '../../machines/agent/limits.ts'
import { isRun, pendingIn } from '../../machines/tools/pendingCalls.ts'
import { contextsIn, messagesOf } from '../durable/snapshots.ts'
import { isJsonObject } from '../messages/json.ts'
import { isMessage } from '../messages/messageFlaw.ts'
import { type ToolCallPart, type ToolResultPart, toolCallsOf, toolResultsOf } from '../messages/messages.ts'
import type { PendingCall } from '../messages/result.ts'
import { errorOf, stackOf } from '../tools/toolError.ts'
import type { ActorRecord } from './ActorRecord.ts'
import { imagesIn } from './conversation.ts'
import { callVerdicts, storedVerdicts } from './policyRows.ts'
import type { QuestionRow, ToolRow, ToolStatus } from './protocol.ts'
import type { Recorder } from './Recorder.ts'
import { readable } from './readable.ts'
import { StoredRecord, type Subject } from './StoredRecord.ts'

/** The tool calls of a subject and of the agents it is made of: as they are, or as they were at a moment. */
export const toolRowsOf = (recorder: Recorder, record: Subject, asOf?: number): ToolRow[] => {
  const { secrets } = recorder
  if (record instanceof StoredRecord)
    return storedRows(record, snapshotAt(record, asOf), secrets, asOf === undefined)
  const owners = new Set(record.attempts.map(({ owner }) => owner))
  return [...owners].flatMap((id) => {
    const owner = recorder.actors.get(id)
    if (!owner) return []
    const children = childrenOfCalls(recorder, owner)
    return liveRows(owner, snapshotAt(owner, asOf), secrets, asOf).map((row) => ({
      ...row,
      child: children.get(`call:${row.callId}`) ?? null,
    }))
  })
}

const snapshotAt = ({ snapshot, moments }: Subject, asOf: number | undefined): Snapshot<unknown> | null =>
  asOf === undefined ? snapshot : (moments.findLast(({ seq }) => seq <= asOf)?.snapshot ?? null)

/** The actors that calls run and that are worth a look, such as sub-agents, by the names of the calls. */
const childrenOfCalls = ({ actors }: Recorder, owner: ActorRecord): Map<string, number> => {
  const children = new Map<string, number>()
  for (const { id, parent } of actors.values()) {
    if (parent && parent.root === owner.root && !children.has(parent.name)) children.set(parent.name, id)
  }
  return children
}

/** The calls of an agent's run, by a snapshot of its actor. */
const liveRows = (
  record: ActorRecord,
  snapshot: Snapshot<unknown> | null,
  secrets: readonly string[],
  asOf = Number.POSITIVE_INFINITY,
): ToolRow[] => {
  const { context } = (snapshot ?? {}) as { context?: unknown }
  if (!isRun(context)) return []
  const { messages, round } = context
  const started = new Set(round.started.flat())
  const answers = resultsById([...messages.flatMap(toolResultsOf), ...round.results.flat()])
  return messages.flatMap(toolCallsOf).map((call): ToolRow => {
    const answer = answers.get(call.id)
    const times = record.toolTimes.get(call.id)
    const open = round.pendingApprovals.includes(call.id)
      ? 'pending'
      : started.has(call.id)
        ? 'running'
        : 'waiting'
    const row = rowOf(record.id, call, answer, open, secrets)
    const isBegun = row.status !== 'waiting' && row.status !== 'pending'
    return {
      ...row,
      startedAt: isBegun ? (times?.startedAt ?? null) : null,
      endedAt: answer ? (times?.endedAt ?? null) : null,
      progress: (record.toolProgress.get(call.id) ?? [])
        .filter(({ seq }) => seq <= asOf)
        .map(({ value }) => readable(value, secrets)),
      isInDoubt: round.inDoubt.includes(call.id),
      verdicts: callVerdicts(record, call.id, asOf, secrets),
    }
  })
}

/** The calls of a stored run, by a snapshot of it, or by its stream and its entry in the list. */
const storedRows = (
  record: StoredRecord,
  snapshot: Snapshot<unknown> | null,
  secrets: readonly string[],
  isNow: boolean,
): ToolRow[] => {
  const stored = snapshot ? messagesOf(snapshot).filter(isMessage) : []
  // Some stores keep no snapshot of a run that works: its stream has what the stored part does not.
  const messages = isNow || !snapshot ? [...record.messages, ...stored] : stored
  const waiting = snapshot ? pendingIn(snapshot) : record.info.pending
  const pending = waiting.filter(({ kind }) => kind !== 'limit')
  const rounds = contextsIn(snapshot).flatMap(({ round }) => (isJsonObject(round) ? [round] : []))
  const answers = resultsById([
    ...messages.flatMap(toolResultsOf),
    ...rounds.flatMap(({ results }) => resultsIn(results)),
  ])
  const started = new Set(rounds.flatMap((round) => [round.started].flat(2)))
  const isWorking = isNow && record.info.status === 'running'
  const waits = new Map(pending.map((call) => [call.id, call]))
  const calls = new Map([...messages.flatMap(toolCallsOf), ...pending].map((call) => [call.id, call]))
  return [...calls.values()].map((call): ToolRow => {
    const wait = waits.get(call.id)
    const isStarted = started.has(call.id) || (isWorking && rounds.length === 0)
    const open = wait?.kind === 'approval' ? 'pending' : isStarted && !wait ? 'running' : 'waiting'
    return {
      ...rowOf(record.id, call, answers.get(call.id), open, secrets),
      isInDoubt: wait?.inDoubt === true,
      verdicts: storedVerdicts(snapshot, call.id, secrets),
    }
  })
}

const resultsById = (results: readonly ToolResultPart[]): ReadonlyMap<string, ToolResultPart> =>
  new Map(results.map((result) => [result.id, result]))

/** The results of a round that is not over: they are not a message yet. */
const resultsIn = (results: unknown): ToolResultPart[] => {
  const message = { role: 'user', parts: [results].flat(2) }
  return isMessage(message) ? toolResultsOf(message) : []
}

/** A call with its result. `open` is its status while it has no result. */
const rowOf = (
  owner: number,
  call: ToolCallPart,
  answer: ToolResultPart | undefined,
  open: ToolStatus,
  secrets: readonly string[],
): ToolRow => ({
  owner,
  callId: call.id,
  name: call.name,
  arguments: readable(call.argumentsError === undefined ? call.arguments : call.argumentsRaw, secrets),
  status: answer ? (answer.isError ? 'failed' : 'done') : open,
  startedAt: null,
  endedAt: null,
  result: answer ? String(readable(answer.result, secrets)) : null,
  stack: stackOfResult(answer, secrets),
  images: imagesIn(answer?.parts ?? []),
  isRejected: answer?.rejected === true,
  progress: [],
  isInDoubt: false,
  verdicts: [],
  child: null,
})

/** The stack of what the tool threw, while its run is in this process. */
const stackOfResult = (answer: ToolResultPart | undefined, secrets: readonly string[]): string | null => {
  const error = answer && errorOf(answer)
  return error ? stackOf(error, (text) => String(readable(text, secrets))) : null
}

/** The decisions that a run waits for, its own and those of the runs below it. */
export const questionRows = (subject: Subject, secrets: readonly string[]): QuestionRow[] =>
  pendingOf(subject).map((call) => {
    const isLimit = call.kind === 'limit'
    return {
      owner: subject.id,
      callId: call.id,
      question: call.question ?? null,
      kind: call.kind ?? 'approval',
      name: isLimit ? '' : call.name,
      arguments: isLimit ? null : readable(call.arguments, secrets),
      isInDoubt: call.inDoubt === true,
      text: isLimit ? limitSentence(reachedIn(call.arguments)) : '',
    }
  })

const pendingOf = (subject: Subject): readonly PendingCall[] => {
  if (subject instanceof StoredRecord) return subject.info.pending
  const { snapshot } = subject
  try {
    // A paused run still waits.
    return pendingIn(snapshot?.status === 'stopped' ? { ...snapshot, status: 'active' } : snapshot)
  } catch {
    // Actors of other kinds may throw when they are read.
    return []
  }
}
