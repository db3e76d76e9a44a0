import { factsOf, statePath } from '../../machines/agent/states.ts'
import { isRun } from '../../machines/tools/pendingCalls.ts'
import { agentOfMachine } from '../agent/AgentInternals.ts'
import type { RunInfo, RunStatus } from '../durable/index.ts'
import { isJsonObject } from '../messages/json.ts'
import { textOf } from '../messages/messages.ts'
import type { Usage } from '../messages/result.ts'
import type { ActorRecord } from './ActorRecord.ts'
import { activityOf } from './chart.ts'
import type { ActorRow, ActorStatus } from './protocol.ts'
import type { Recorder } from './Recorder.ts'
import { brief } from './readable.ts'
import { StoredRecord, type Subject } from './StoredRecord.ts'

/** A subject as a line of the tree. */
export const actorRow = (recorder: Recorder, subject: Subject): ActorRow => {
  if (subject instanceof StoredRecord) return storedRow(recorder, subject)
  const row = liveRow(subject, recorder.secrets)
  const stored = recorder.storedOf(subject)
  return stored ? { ...row, ...hostedPart(recorder, subject, row, stored) } : row
}

const liveRow = (record: ActorRecord, secrets: readonly string[]): ActorRow => ({
  id: record.id,
  parent: record.parent?.id ?? null,
  name: record.name,
  title: titleOf(record),
  run: '',
  kind: record.isAgent ? 'agent' : record.machine ? 'machine' : 'other',
  status: statusOf(record),
  state: statePath(Object(record.snapshot).value),
  activity: activityOf(record.machine, record.snapshot),
  model: record.model,
  usage: usageOf(record),
  createdAt: record.createdAt,
  endedAt: record.endedAt,
  reads: record.reads,
  canAbort: record.endedAt === null && accepts(record, 'abort'),
  canRestart: false,
  canAsk: agentOfMachine(record.machine) !== undefined,
  from: record.from?.id ?? null,
  failure: failureOf(record, secrets),
})

/** The part of a line that its store decides on. An actor that was stopped is not the end of a stored run. */
const hostedPart = (
  recorder: Recorder,
  live: ActorRecord,
  { status, endedAt }: ActorRow,
  stored: StoredRecord,
): Partial<ActorRow> => {
  const { run, title, name, canAsk, canRestart, from, canAbort, ...row } = storedRow(recorder, stored)
  const isStopped = status === 'stopped' || status === 'paused'
  const isWaiting = status === 'paused' && !stored.isOver
  return {
    ...{ run, title, name, canAsk, from, canRestart: canRestart && live.ref !== null },
    status: isWaiting ? 'waiting' : isStopped ? row.status : status,
    endedAt: isStopped && !stored.isOver ? null : endedAt,
    canAbort: (isStopped || endedAt === null) && canAbort,
  }
}

/** The usage of a whole run, tools included. */
export const usageOf = (subject: Subject): Usage | null => {
  if (subject instanceof StoredRecord) return subject.info.usage ?? null
  const { context } = (subject.snapshot ?? {}) as { context?: { totals?: { usage?: Usage | null } } }
  return context?.totals?.usage ?? null
}

/** Checks that the machine of an actor handles an event at all: no other event is sent to it. */
export const accepts = ({ machine }: ActorRecord, type: string): boolean =>
  machine?.root.events.includes(type) ?? false

/** The question, for a run that has one; the name of the tool, for a call. */
const titleOf = ({ snapshot, toolName }: ActorRecord): string => {
  if (toolName !== '') return toolName
  const { context } = (snapshot ?? {}) as { context?: { messages?: unknown; input?: { prompt?: unknown } } }
  if (isRun(context)) {
    const asked = context.messages.find(({ role }) => role === 'user') ?? context.history.at(-1)
    return asked ? textOf(asked).slice(0, 200) : ''
  }
  const prompt = context?.input?.prompt
  return typeof prompt === 'string' ? prompt.slice(0, 200) : ''
}

const failureOf = (record: ActorRecord, secrets: readonly string[]): string => {
  const { context, error } = (record.snapshot ?? {}) as { context?: { failure?: unknown }; error?: unknown }
  if (isFailedCall(record)) return brief(Object(resultOf(record)).result, secrets, 300)
  const failure = error ?? (record.snapshot?.status === 'done' ? context?.failure : undefined)
  if (failure === undefined || failure === null) return ''
  const { name = 'Error', message } = failure as { name?: unknown; message?: unknown }
  return message === undefined ? brief(failure, secrets, 300) : `${name}: ${message}`.slice(0, 1_000)
}

/** The result of an actor that runs a call. */
const resultOf = ({ snapshot, toolName }: ActorRecord): unknown =>
  toolName === '' || snapshot?.status !== 'done' ? undefined : Object(snapshot.output).result

/** Recognises a call whose result is an error: its actor has done its work. */
const isFailedCall = (record: ActorRecord): boolean => Object(resultOf(record)).isError === true

const statusOf = (record: ActorRecord): ActorStatus => {
  const { snapshot, endedAt } = record
  if (!snapshot) return 'created'
  const { context, value } = snapshot as { context?: unknown; value?: unknown }
  const isWaiting = isRun(context) && factsOf(value)?.waitsFor !== undefined
  switch (snapshot.status) {
    case 'active':
      if (endedAt !== null) return 'stopped'
      return isWaiting ? 'waiting' : 'active'
    case 'done': {
      if (isFailedCall(record)) return 'failed'
      const { status } = (snapshot.output ?? {}) as { status?: unknown }
      return status === 'failed' || status === 'aborted' ? status : 'done'
    }
    case 'error':
      return 'failed'
    case 'stopped':
      return isWaiting ? 'paused' : 'stopped'
  }
}

/** The words of the page for the status of a stored run. */
export const statuses = {
  running: 'active',
  waiting: 'waiting',
  complete: 'done',
  failed: 'failed',
  aborted: 'aborted',
  abandoned: 'abandoned',
} as const satisfies Record<RunStatus, ActorStatus>

export const runStatuses = Object.keys(statuses) as RunStatus[]

const isQueued = ({ parent, startedAt, status }: RunInfo): boolean =>
  parent !== undefined && startedAt === undefined && status === 'running'

/** A stored run as a line of the tree. */
const storedRow = (recorder: Recorder, record: StoredRecord): ActorRow => {
  const { id, info, isOver, attempts, canAsk, canRestart, from, machine, parent, snapshot } = record
  const { error } = info
  const failure = isJsonObject(error) ? `${error.name}: ${error.message}`.slice(0, 1_000) : ''
  return {
    id,
    parent: parent?.id ?? null,
    name: info.agent,
    title: info.prompt || info.id,
    run: info.id,
    kind: 'agent',
    status: isQueued(info) ? 'created' : statuses[info.status],
    state: (!isOver && statePath(Object(snapshot).value)) || info.state,
    activity: activityOf(machine, snapshot),
    model: '',
    usage: usageOf(record),
    createdAt: (info.startedAt ?? info.createdAt).getTime(),
    endedAt: isOver ? info.updatedAt.getTime() : null,
    reads: attempts.reduce((sum, { facts }) => sum + facts.chunks, 0),
    canAbort: !isOver,
    canAsk,
    canRestart,
    from: (from && recorder.subject(from.id)?.id) ?? null,
    failure,
  }
}
