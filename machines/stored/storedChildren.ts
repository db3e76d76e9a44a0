import { stableJson } from '../../src/messages/json.ts'
import type { PendingCall } from '../../src/messages/result.ts'
import type { StateFacts } from '../agent/states.ts'
import { modelInput, retryTime, type StreamingState } from '../agent/streamingState.ts'
import { isOpen } from '../tasks/tasks.ts'
import { askedCalls } from '../tools/approvals.ts'
import { nextDue } from '../tools/expiry.ts'
import { currentCalls } from '../tools/round.ts'
import * as is from './shape.ts'

/** A stored child of a run. */
export type Child = { snapshot: Readonly<Record<string, unknown>> }

const isSame = (a: unknown, b: unknown): boolean => stableJson(a) === stableJson(b)

const ids = is.listOf(is.text)

/**
 * Checks the children. Their work follows from the run's own data: another request, wait or question is not the
 * run's.
 */
export const childrenFlaw = (
  state: StreamingState,
  { isInRound, isHeld, waitsFor }: StateFacts,
  { model, timer, approver, toolExecutor, summariser, tasks }: Readonly<Record<string, Child>>,
): string | undefined => {
  // They end when the run has processed it, and are gone then.
  const ended = [model, timer, summariser].find((child) => child && child.snapshot.status !== 'active')
  if (ended) return 'what it waits for has ended without a result'
  if (model && !isSame(model.snapshot.input, modelInput(state))) return 'its model is asked something else'
  if (waitsFor && !timer && nextDue(state) !== undefined)
    return 'its calls expire, but there is no timer in its children'
  const at = waitsFor ? dueAt(state, timer) : isInRound ? state.deadlineAt : retryTime(state)
  // A hold of the policy has its own end.
  if (timer && !isHeld && !isSame(timer.snapshot.input, { at })) return 'its timer waits for another moment'
  return (
    (approver && approverFlaw(state, approver.snapshot)) ??
    executorFlaw(state, toolExecutor?.snapshot) ??
    tasksFlaw(state, tasks?.snapshot)
  )
}

/** The moment that the timer of a run that waits has to wait for: the next one, or that of a call which was decided on since. */
const dueAt = (state: StreamingState, timer: Child | undefined): number | undefined => {
  const { at } = Object(timer?.snapshot.input)
  const next = nextDue(state)
  const isOwn = Object.values(state.round.due ?? {}).some((due) => due.at === at)
  return isOwn && (next === undefined || at < next) ? at : next
}

/** Checks the approver: the person who is asked sees what would run, and is asked about all pending calls. */
const approverFlaw = (
  state: StreamingState,
  { calls, decided }: Readonly<Record<string, unknown>>,
): string | undefined => {
  const flaw = is.listOf(is.part('toolCall'))('approver.calls', calls) ?? ids('approver.decided', decided)
  if (flaw) return flaw
  const known = new Set(currentCalls(state).map(stableJson))
  const asked = (calls as PendingCall[]).filter(({ id }) => !(decided as string[]).includes(id))
  // Older releases did not give questions an identity.
  const plain = ({ question: _, ...call }: PendingCall) => stableJson(call)
  const isAsked = new Set(asked.map(plain))
  return (calls as PendingCall[]).every(({ kind: _, inDoubt: __, question: ___, expiresAt: ____, ...call }) =>
    known.has(stableJson(call)),
  ) && askedCalls(state).every((call) => isAsked.has(plain(call)))
    ? undefined
    : 'its approver is asked about other calls'
}

const executorShape = is.fields({ status: is.oneOf('active'), runs: is.recordOf(is.object) })

/** The executor keeps nothing but runs of sub-agents: all that it does is what the round says. */
const executorFlaw = (
  state: StreamingState,
  snapshot: Readonly<Record<string, unknown>> | undefined,
): string | undefined => {
  if (!snapshot) return undefined
  const flaw = executorShape('toolExecutor', snapshot)
  if (flaw) return flaw
  const calls = new Set(currentCalls(state).map(({ id }) => id))
  const stray = Object.keys(Object(snapshot.runs)).find((id) => !calls.has(id))
  return stray === undefined ? undefined : `its tool executor has a run of "${stray}", which is not its call`
}

const serviceShape = is.fields({
  status: is.oneOf('active'),
  runs: is.recordOf(is.fields({ tool: is.text, run: is.object })),
})

/** Each run of the service belongs to a task, and a task that works has a service: or the run would wait for ever. */
const tasksFlaw = (
  { tasks = [] }: StreamingState,
  snapshot: Readonly<Record<string, unknown>> | undefined,
): string | undefined => {
  if (new Set(tasks.map(({ id }) => id)).size < tasks.length) return 'a task is listed twice'
  if (!snapshot) return tasks.some(isOpen) ? 'it has tasks, but nothing to run them' : undefined
  const flaw = serviceShape('tasks', snapshot)
  if (flaw) return flaw
  const stray = Object.keys(Object(snapshot.runs)).find((run) => tasks.every(({ id }) => id !== run))
  return stray === undefined ? undefined : `it runs a task "${stray}", which it did not start`
}
