import type { ToolCallPart, ToolResultPart } from '../../src/messages/messages.ts'
import type { OnExpired, Tool } from '../../src/tools/tool.ts'
import { errorResult } from '../../src/tools/toolResult.ts'
import type { StreamingState, ToolRound } from '../agent/streamingState.ts'
import { callWithId, externalCalls, ownOf } from './round.ts'

/** The moment at which a call waits no longer, and what happens then; `wake`: it is a sleep, which is over. */
export type Due = { at: number; outcome: OnExpired | 'wake' }

/** A call whose time is up. */
export type Expired = { call: ToolCallPart; outcome: Due['outcome'] }

/** The last moment that a date can hold. */
const latest = 8.64e15

/** The calls that wait for a decision, or else those that wait for an answer. */
const waitingCalls = (state: StreamingState): readonly ToolCallPart[] =>
  state.round.pendingApprovals.length > 0
    ? state.round.pendingApprovals.flatMap((id) => callWithId(state, id) ?? [])
    : externalCalls(state)

/**
 * The round with the moments at which the calls that begin to wait now are given up. A call in doubt is never approved by
 * the clock, nor is one of an agent with a policy, which may be what asks.
 */
export const withDues = (
  state: StreamingState,
  tools: ReadonlyMap<string, Tool>,
  hasPolicy: boolean,
): ToolRound => {
  const { due: _, ...round } = state.round
  const isApproval = round.pendingApprovals.length > 0
  const dueOf = (call: ToolCallPart): Due | undefined => {
    const { expiry, sleepMs } = tools.get(call.name) ?? {}
    if (!isApproval && sleepMs) return { at: momentIn(round, sleepMs(call.arguments)), outcome: 'wake' }
    if (!expiry) return undefined
    const isUnsafe = expiry.outcome === 'approve' && (hasPolicy || round.inDoubt.includes(call.id))
    return { at: momentIn(round, expiry.ms), outcome: isUnsafe ? 'reject' : expiry.outcome }
  }
  const entries = waitingCalls(state).flatMap((call) => {
    const due = dueOf(call)
    return due ? [[call.id, due] as const] : []
  })
  return entries.length > 0 ? { ...round, due: Object.fromEntries(entries) } : round
}

const momentIn = ({ waitingSince }: ToolRound, ms: number): number =>
  Math.min(Math.ceil(waitingSince + ms), latest)

/** The first moment of a round after another one; it may be that of a call that was decided on. */
export const momentAfter = ({ due = {} }: ToolRound, after = Number.NEGATIVE_INFINITY): number | null =>
  Object.values(due)
    .map(({ at }) => at)
    .filter((at) => at > after)
    .toSorted((a, b) => a - b)[0] ?? null

/** The moment at which a call that waits is given up. */
export const expiryOf = ({ round }: StreamingState, callId: string): { expiresAt?: number } => {
  const due = round.due && ownOf(round.due, callId)
  return due ? { expiresAt: due.at } : {}
}

/** True for a call of a tool that sleeps: no answer is asked for. */
export const isAsleep = ({ round }: StreamingState, { id }: ToolCallPart): boolean =>
  round.due !== undefined && ownOf(round.due, id)?.outcome === 'wake'

/** The sleeps that are under way. */
export const sleepsIn = (state: StreamingState): ToolCallPart[] =>
  state.round.due ? externalCalls(state).filter((call) => isAsleep(state, call)) : []

const openDues = (state: StreamingState): { call: ToolCallPart; due: Due }[] => {
  const { due } = state.round
  if (!due) return []
  return waitingCalls(state).flatMap((call) => {
    const own = ownOf(due, call.id)
    return own ? { call, due: own } : []
  })
}

/** The next moment at which a call that still waits is given up. */
export const nextDue = (state: StreamingState): number | undefined =>
  openDues(state)
    .map(({ due }) => due.at)
    .toSorted((a, b) => a - b)[0]

/** The calls that still wait, and whose time is up. */
export const expiredAt = (state: StreamingState, at: number): Expired[] =>
  openDues(state).flatMap(({ call, due }) => (due.at <= at ? { call, outcome: due.outcome } : []))

/** The result of a call that nothing was decided on in time. */
export const expiredResult = ({ round }: StreamingState, call: ToolCallPart): ToolResultPart => ({
  ...errorResult(
    call,
    round.inDoubt.includes(call.id)
      ? 'The process ended while this tool was running, and no person decided on it in time; whether it took effect is unknown.'
      : round.pendingApprovals.includes(call.id)
        ? 'No person decided on this call in time; it was not run.'
        : 'No answer to this call came in time.',
  ),
  rejected: true,
})

/** The result of a sleep that is over, or that ends early. */
export const wokenResult = ({ round }: StreamingState, call: ToolCallPart, now: number): ToolResultPart => {
  const { at } = (round.due && ownOf(round.due, call.id)) ?? { at: now }
  const [slept, wanted] = [now, at].map((end) => Math.max(0, Math.round((end - round.waitingSince) / 1000)))
  const how = now < at ? `Woken after ${slept} of ${wanted} seconds.` : `Slept for ${wanted} seconds.`
  const { id, name } = call
  const time = new Date(Math.min(now, latest)).toISOString()
  return { type: 'toolResult', id, name, result: `${how} It is ${time}.` }
}
