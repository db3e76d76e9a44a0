import { isJsonObject } from '../../src/messages/json.ts'
import { isMessage } from '../../src/messages/messageFlaw.ts'
import type { ChatMessage } from '../../src/messages/messages.ts'
import type { PendingCall } from '../../src/messages/result.ts'
import { limitQuestion } from '../agent/limits.ts'
import { factsOf } from '../agent/states.ts'
import type { StreamingState } from '../agent/streamingState.ts'
import { askedCalls, externalCalls } from './round.ts'
import { isToolProgress, waitsFor } from './toolProgress.ts'

type Standing = {
  status?: unknown
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

/** Those that have not been asked about yet. */
export const unattendedIn = (snapshot: unknown): PendingCall[] =>
  waitsIn(snapshot).flatMap(({ calls, isAttended }) => (isAttended ? [] : calls))

const waitsIn = (snapshot: unknown): Wait[] => {
  if (typeof snapshot !== 'object' || snapshot === null) return []
  const { status, value, context, children = {} }: Standing = snapshot
  if (status !== 'active') return []
  if (isRun(context)) {
    const { waitsFor: kind } = factsOf(value) ?? {}
    if (kind) return [{ calls: asked[kind](context), isAttended: isActive(children.approver) }]
    const executor = snapshotOf(children.toolExecutor)
    if (isToolProgress(executor)) return [{ calls: waitsFor(executor), isAttended: false }]
  }
  return Object.values(children).flatMap((child) => waitsIn(snapshotOf(child)))
}

/** The calls that a run itself waits for, by the kind of decision. */
const asked: Record<PendingCall['kind'], (state: StreamingState) => PendingCall[]> = {
  approval: askedCalls,
  answer: (state) => externalCalls(state).map((call) => ({ ...call, kind: 'answer' })),
  limit: limitQuestion,
}

const isActive = (child: Child | undefined): boolean => {
  const snapshot = snapshotOf(child)
  return isJsonObject(snapshot) && snapshot.status === 'active'
}

/** What a run has added to the conversation, and the runs it is made of that have not ended yet. */
export const messagesIn = (snapshot: unknown): ChatMessage[] => {
  if (typeof snapshot !== 'object' || snapshot === null) return []
  const { context, children = {} }: Standing = snapshot
  const own = isJsonObject(context) && Array.isArray(context.messages) ? context.messages : []
  const known = own.filter(isMessage)
  // The runs below a single run are those of sub-agents: their messages are not its own.
  if (isRun(context)) return known
  return [...known, ...Object.values(children).flatMap((child) => messagesIn(snapshotOf(child)))]
}

/** Recognises the data of the lifecycle chart: a user's chart may have any data, and states of any name. */
export const isRun = (context: unknown): context is StreamingState =>
  isJsonObject(context) &&
  isJsonObject(context.answer) &&
  isJsonObject(context.request) &&
  isJsonObject(context.round) &&
  Array.isArray(context.history) &&
  Array.isArray(context.messages)
