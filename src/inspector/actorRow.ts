import type { Snapshot } from 'xstate'
import { agentOfMachine } from '../agent/AgentInternals.ts'
import { textOf } from '../messages/messages.ts'
import { type ActorRecord, isRunData } from './ActorRecord.ts'
import { brief } from './readable.ts'
import { StoredRecord, type Subject } from './StoredRecord.ts'
import { stateOf } from './stateOf.ts'
import { storedRow } from './storedRow.ts'
import type { ActorRow, ActorStatus } from './wire.ts'

/** A subject as a line of the tree. */
export const actorRow = (subject: Subject, secrets: readonly string[]): ActorRow =>
  subject instanceof StoredRecord ? storedRow(subject) : rowOf(subject, secrets)

const rowOf = (record: ActorRecord, secrets: readonly string[]): ActorRow => ({
  id: record.id,
  parent: record.parent?.id ?? null,
  name: record.name,
  title: titleOf(record),
  run: '',
  kind: record.isAgent ? 'agent' : record.machine ? 'machine' : 'other',
  status: statusOf(record),
  state: stateOf(record.snapshot),
  createdAt: record.createdAt,
  endedAt: record.endedAt,
  reads: record.reads,
  canAbort: record.endedAt === null && accepts(record, 'abort'),
  canRestart: false,
  canAsk: agentOfMachine(record.machine) !== undefined,
  from: record.from?.id ?? null,
  failure: failureOf(record.snapshot, secrets),
})

/** Whether the machine of an actor knows an event at all; what it knows nothing of is never sent to it. */
export const accepts = ({ machine }: ActorRecord, type: string): boolean =>
  machine?.root.events.includes(type) ?? false

/** The question, for a run that has one; the name of the tool, for a call. */
const titleOf = ({ snapshot, toolName }: ActorRecord): string => {
  if (toolName !== '') return toolName
  const { context } = (snapshot ?? {}) as { context?: { messages?: unknown; input?: { prompt?: unknown } } }
  if (isRunData(context)) {
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
  const isWaiting =
    isRunData(context) && (value === 'AwaitingApproval' || value === 'AwaitingTools' || value === 'AtLimit')
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
