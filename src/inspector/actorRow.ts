import type { Snapshot } from 'xstate'
import { factsOf, statePath } from '../../machines/agent/states.ts'
import { isRun } from '../../machines/tools/pendingCalls.ts'
import { agentOfMachine } from '../agent/AgentInternals.ts'
import { isJsonObject } from '../messages/json.ts'
import { textOf } from '../messages/messages.ts'
import type { ActorRecord } from './ActorRecord.ts'
import { activityOf } from './chart.ts'
import type { ActorRow, ActorStatus } from './protocol.ts'
import { brief } from './readable.ts'
import { StoredRecord, type Subject } from './StoredRecord.ts'

/** A subject as a line of the tree. */
export const actorRow = (subject: Subject, secrets: readonly string[]): ActorRow =>
  subject instanceof StoredRecord ? storedRow(subject) : liveRow(subject, secrets)

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
  createdAt: record.createdAt,
  endedAt: record.endedAt,
  reads: record.reads,
  canAbort: record.endedAt === null && accepts(record, 'abort'),
  canRestart: false,
  canAsk: agentOfMachine(record.machine) !== undefined,
  from: record.from?.id ?? null,
  failure: failureOf(record.snapshot, secrets),
})

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

const failureOf = (snapshot: Snapshot<unknown> | null, secrets: readonly string[]): string => {
  const { context, error } = (snapshot ?? {}) as { context?: { failure?: unknown }; error?: unknown }
  const failure = error ?? (snapshot?.status === 'done' ? context?.failure : undefined)
  if (failure === undefined || failure === null) return ''
  const { name = 'Error', message } = failure as { name?: unknown; message?: unknown }
  return message === undefined ? brief(failure, secrets, 300) : `${name}: ${message}`.slice(0, 1_000)
}

const statusOf = ({ snapshot, endedAt }: ActorRecord): ActorStatus => {
  if (!snapshot) return 'created'
  const { context, value } = snapshot as { context?: unknown; value?: unknown }
  const isWaiting = isRun(context) && factsOf(value)?.waitsFor !== undefined
  switch (snapshot.status) {
    case 'active':
      if (endedAt !== null) return 'stopped'
      return isWaiting ? 'waiting' : 'active'
    case 'done': {
      const { status } = (snapshot.output ?? {}) as { status?: unknown }
      return status === 'failed' || status === 'aborted' ? status : 'done'
    }
    case 'error':
      return 'failed'
    case 'stopped':
      return isWaiting ? 'paused' : 'stopped'
  }
}

const statuses = {
  running: 'active',
  waiting: 'waiting',
  complete: 'done',
  failed: 'failed',
  aborted: 'aborted',
  abandoned: 'abandoned',
} as const satisfies Record<StoredRecord['info']['status'], ActorStatus>

/** A stored run as a line of the tree. */
const storedRow = (record: StoredRecord): ActorRow => {
  const { id, info, isOver, attempts, canAsk, canRestart, from, machine, snapshot } = record
  const { error } = info
  const failure = isJsonObject(error) ? `${error.name}: ${error.message}`.slice(0, 1_000) : ''
  return {
    id,
    parent: null,
    name: info.agent,
    title: info.prompt || info.id,
    run: info.id,
    kind: 'agent',
    status: statuses[info.status],
    state: statePath(Object(snapshot).value) || info.state,
    activity: activityOf(machine, snapshot),
    createdAt: info.createdAt.getTime(),
    endedAt: isOver ? info.updatedAt.getTime() : null,
    reads: attempts.reduce((sum, { facts }) => sum + facts.chunks, 0),
    canAbort: !isOver,
    canAsk,
    canRestart,
    from: from?.id ?? null,
    failure,
  }
}
