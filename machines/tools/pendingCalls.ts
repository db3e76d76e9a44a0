import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import { messageFlaw } from '../../src/messages/messageFlaw.ts'
import type { ChatMessage } from '../../src/messages/messages.ts'
import type { PendingCall } from '../../src/messages/result.ts'
import type { AgentEmitted } from '../agent/events.ts'
import { limitQuestion, reachedIn } from '../agent/limits.ts'
import { copyOf, type StreamingState } from '../agent/streamingState.ts'
import { agentMigrations } from '../stored/migrations.ts'
import { currentForm, snapshotVersion } from '../stored/version.ts'
import { askedCalls } from './approvals.ts'
import { externalCalls, waitsFor } from './round.ts'

type RunNode = {
  value?: unknown
  context?: unknown
  children?: Readonly<Record<string, Child | undefined>>
}

/** An actor, or what is stored of one. */
type Child = { getSnapshot(): unknown } | { snapshot: unknown }

const snapshotOf = (child: Child | undefined): unknown =>
  child && ('getSnapshot' in child ? child.getSnapshot() : child.snapshot)

type Wait = {
  calls: PendingCall[]
  /** `onApproval` is already being asked. */
  isAttended: boolean
}

/** The calls that a run waits for, by the snapshot of its actor or a stored one: its own, and those of the runs below it. */
export const pendingIn = (snapshot: unknown): PendingCall[] => waitsIn(snapshot).flatMap(({ calls }) => calls)

/** The calls that a run waits for and that `onApproval` is not asked about. */
export const unattendedIn = (snapshot: unknown): PendingCall[] =>
  waitsIn(snapshot).flatMap(({ calls, isAttended }) => (isAttended ? [] : calls))

const waitsIn = (snapshot: unknown): Wait[] => {
  if (!isJsonObject(snapshot) || snapshot.status !== 'active') return []
  // A store may have been written by an older release.
  const isStored = isRun(snapshot.context) && snapshot.context.version !== snapshotVersion
  const {
    value,
    context,
    children = {},
  }: RunNode = isStored ? currentForm(snapshot, agentMigrations) : snapshot
  if (isRun(context)) {
    if (value === 'AwaitingApproval')
      return [{ calls: askedCalls(context), isAttended: isActive(children.approver) }]
    if (value === 'AtLimit') return [{ calls: limitQuestion(context), isAttended: false }]
    if (value === 'AwaitingTools') {
      const calls = externalCalls(context).map((call): PendingCall => ({ ...call, kind: 'answer' }))
      return [{ calls, isAttended: false }]
    }
    if (children.toolExecutor) return [{ calls: waitsFor(context), isAttended: false }]
  }
  return Object.values(children).flatMap((child) => waitsIn(snapshotOf(child)))
}

const isActive = (child: Child | undefined): boolean => {
  const snapshot = snapshotOf(child)
  return isJsonObject(snapshot) && snapshot.status === 'active'
}

/** The messages that a run has added to the conversation, and those of the runs below it that have not ended yet. */
export const messagesIn = (snapshot: unknown): ChatMessage[] => {
  if (typeof snapshot !== 'object' || snapshot === null) return []
  const { context, children = {} }: RunNode = snapshot
  const own = isJsonObject(context) && Array.isArray(context.messages) ? context.messages : []
  const known = own.filter((each): each is ChatMessage & JsonObject => messageFlaw(each) === undefined)
  return [...known, ...Object.values(children).flatMap((child) => messagesIn(snapshotOf(child)))]
}

/** Recognises the data of the lifecycle chart: a user's chart may have any data, and states of any name. */
export const isRun = (context: unknown): context is StreamingState =>
  isJsonObject(context) && isJsonObject(context.round) && Array.isArray(context.history)

/** The event that listeners get when a run begins to wait for a call. */
export const askEvent = ({ kind, inDoubt, ...call }: PendingCall): AgentEmitted =>
  kind === 'limit'
    ? { type: 'limit', callId: call.id, ...reachedIn(call.arguments) }
    : {
        ...(kind === 'approval'
          ? { type: 'tool.approval', ...(inDoubt && { inDoubt }) }
          : { type: 'tool.external' }),
        callId: call.id,
        call: copyOf(call),
      }
