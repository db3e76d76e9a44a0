import { isJsonObject } from '../../src/messages/json.ts'
import { isMessage } from '../../src/messages/messageFlaw.ts'
import type { ChatMessage } from '../../src/messages/messages.ts'
import type { PendingCall } from '../../src/messages/result.ts'
import { limitQuestion } from '../agent/limits.ts'
import { factsOf } from '../agent/states.ts'
import { copyOf, type StreamingState } from '../agent/streamingState.ts'
import { agentMigrations } from '../stored/migrations.ts'
import { currentForm, snapshotVersion } from '../stored/version.ts'
import { askedCalls, awaitedCalls } from './approvals.ts'
import { openQuestions, waitsFor } from './round.ts'

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

/**
 * The calls that a run waits for, by the snapshot of its actor or a stored one: its own, and those of the runs below it. A
 * copy: what is shown is not what runs.
 */
export const pendingIn = (snapshot: unknown): PendingCall[] =>
  copyOf(waitsIn(snapshot, waitsFor).flatMap(({ calls }) => calls))

/** The calls that can be decided on, a copy as well: those that a run waits for, and while a part of it works, those of the others. */
export const openIn = (snapshot: unknown): PendingCall[] =>
  copyOf(waitsIn(snapshot, openQuestions).flatMap(({ calls }) => calls))

/** The calls that a run waits for and that `onApproval` is not asked about, once nothing else is at work. */
export const unattendedIn = (snapshot: unknown): PendingCall[] => unattended(waitsIn(snapshot, waitsFor))

/** The wait of a sub-agent: the calls that can be decided on, and whether another part of it is at work. */
export const waitIn = (snapshot: unknown): { calls: PendingCall[]; isAtWork: boolean } => ({
  calls: unattended(waitsIn(snapshot, openQuestions)),
  isAtWork: unattendedIn(snapshot).length === 0,
})

const unattended = (waits: readonly Wait[]): PendingCall[] =>
  waits.flatMap(({ calls, isAttended }) => (isAttended ? [] : calls))

const waitsIn = (snapshot: unknown, below: typeof waitsFor): Wait[] => {
  if (!isJsonObject(snapshot) || snapshot.status !== 'active') return []
  // A store may have been written by an older release.
  const isStored = isRun(snapshot.context) && snapshot.context.version !== snapshotVersion
  const {
    value,
    context,
    children = {},
  }: RunNode = isStored ? currentForm(snapshot, agentMigrations) : snapshot
  if (isRun(context)) {
    const { waitsFor: kind } = factsOf(value) ?? {}
    if (kind) return [{ calls: asked[kind](context), isAttended: isActive(children.approver) }]
    if (children.toolExecutor) return [{ calls: below(context), isAttended: false }]
    // What a check of the policy waits for is not the run's own question.
    return []
  }
  return Object.values(children).flatMap((child) => waitsIn(snapshotOf(child), below))
}

/** The calls that a run itself waits for, by the kind of decision. */
const asked: Record<PendingCall['kind'], (state: StreamingState) => PendingCall[]> = {
  approval: askedCalls,
  answer: awaitedCalls,
  limit: limitQuestion,
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
