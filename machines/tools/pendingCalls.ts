import { isJsonObject } from '../../src/messages/json.ts'
import { isMessage } from '../../src/messages/messageFlaw.ts'
import type { ChatMessage } from '../../src/messages/messages.ts'
import type { PendingCall } from '../../src/messages/result.ts'
import { limitQuestion } from '../agent/limits.ts'
import { factsOf } from '../agent/states.ts'
import { copyOf, type StreamingState } from '../agent/streamingState.ts'
import { agentMigrations } from '../stored/migrations.ts'
import { currentForm, snapshotVersion } from '../stored/version.ts'
import { awaitedOfTasks, duesOfTasks, openOfTasks } from '../tasks/tasks.ts'
import { askedCalls, awaitedCalls } from './approvals.ts'
import { nextDue } from './expiry.ts'
import { isWaiting, openQuestions, waitsFor } from './round.ts'

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
  copyOf(waitsIn(snapshot, paused).flatMap(({ calls }) => calls))

/** The calls that can be decided on, a copy as well: those that a run waits for, and while a part of it works, those of the others. */
export const openIn = (snapshot: unknown): PendingCall[] =>
  copyOf(waitsIn(snapshot, open).flatMap(({ calls }) => calls))

/**
 * The calls that a decision on `callId` may be about, as they are: to compare it with, and not to be shown. The other calls
 * are left out where there is such a call: a turn may have thousands.
 */
export const questionsAbout = (snapshot: unknown, callId: string): PendingCall[] => {
  const of = (only?: string) => waitsIn(snapshot, open, only).flatMap(({ calls }) => calls)
  const found = of(callId)
  return found.some(({ id }) => id === callId) ? found : of()
}

/** The calls that a run waits for and that `onApproval` is not asked about, once nothing else is at work. */
export const unattendedIn = (snapshot: unknown): PendingCall[] => unattended(waitsIn(snapshot, paused))

/**
 * The wait of a run below another one: the calls that can be decided on, whether another part of it is at work, and the next
 * moment at which it continues by itself.
 */
export const waitIn = (snapshot: unknown): { calls: PendingCall[]; isAtWork: boolean; due?: number } => {
  const due = dueIn(snapshot)
  return {
    calls: unattended(waitsIn(snapshot, open)),
    isAtWork: unattendedIn(snapshot).length === 0 && !isSleeping(snapshot),
    ...(due !== undefined && { due }),
  }
}

/** Says whether a run waits for a moment, and for nothing else: its sleep holds nothing, and takes no time of its own. */
export const isSleeping = (snapshot: unknown): boolean =>
  dueIn(snapshot) !== undefined && openIn(snapshot).length === 0

/** The next moment at which a run that waits continues by itself: a call expires, or a sleep is over. */
export const dueIn = (snapshot: unknown): number | undefined =>
  duesIn(snapshot).reduce<number | undefined>((least, due) => Math.min(least ?? due, due), undefined)

const duesIn = (snapshot: unknown): number[] => {
  if (!isJsonObject(snapshot) || snapshot.status !== 'active') return []
  const { value, context, children = {} }: RunNode = snapshot
  if (!isRun(context)) return Object.values(children).flatMap((child) => duesIn(snapshotOf(child)))
  const { waitsFor: kind } = factsOf(value) ?? {}
  const own = kind ? nextDue(context) : undefined
  const below = children.toolExecutor ? openQuestions(context).map(({ expiresAt }) => expiresAt) : []
  const ofTasks = kind || isWaiting(context) ? duesOfTasks(context) : []
  return [own, ...below, ...ofTasks].filter((due) => typeof due === 'number')
}

const unattended = (waits: readonly Wait[]): PendingCall[] =>
  waits.flatMap(({ calls, isAttended }) => (isAttended ? [] : calls))

/** The calls of sub-agents and of tasks: those that a run waits for, or all that can be decided on. */
type Below = {
  round(state: StreamingState): PendingCall[]
  tasks(state: StreamingState, isAwaited: boolean): PendingCall[]
}

const paused: Below = {
  round: waitsFor,
  tasks: (state, isAwaited) => (isAwaited ? awaitedOfTasks(state) : []),
}
const open: Below = { round: openQuestions, tasks: openOfTasks }

const waitsIn = (snapshot: unknown, below: Below, only?: string): Wait[] => {
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
    const ofTasks = context.tasks ? below.tasks(context, kind === 'tasks') : []
    const tasks = ofTasks.length > 0 ? [{ calls: ofTasks, isAttended: false }] : []
    if (kind && kind !== 'tasks')
      return [{ calls: asked[kind](context, only), isAttended: isActive(children.approver) }, ...tasks]
    if (children.toolExecutor) return [{ calls: below.round(context), isAttended: false }, ...tasks]
    // What a check of the policy waits for is not the run's own question.
    return tasks
  }
  return Object.values(children).flatMap((child) => waitsIn(snapshotOf(child), below, only))
}

/** The calls that a run itself waits for, by the kind of decision. */
const asked: Record<PendingCall['kind'], (state: StreamingState, only?: string) => PendingCall[]> = {
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
