import type { AnyActorRef } from 'xstate'
import { factsOf } from '../../../machines/agent/states.ts'
import { dueIn, isRun, isSleeping, pendingIn, unattendedIn } from '../../../machines/tools/pendingCalls.ts'
import { partialResult } from '../../agent/runOutcome.ts'
import { waitReason } from '../../messages/result.ts'
import type { WaitsFor } from '../runs.ts'
import type { SegmentEnd } from './engine.ts'

/** A wait that ends a segment: for decisions, which may expire at a moment, or for a moment only. */
export type Rest = { calls: WaitsFor['calls']; due?: number } | { due: number }

/**
 * Reads what a run waits for while nothing of it is under way; undefined while `onApproval` is going to answer, or a timer is
 * going to fire. `now` is the recorded time.
 */
export const restOf = (snapshot: unknown, now: number): Rest | undefined => {
  const due = dueIn(snapshot)
  if (due !== undefined && due <= now) return undefined
  const [first, ...rest] = pendingIn(snapshot)
  if (!first) return due !== undefined && isSleeping(snapshot) ? { due } : undefined
  const isUnattended = unattendedIn(snapshot).length === 1 + rest.length
  return isUnattended ? { calls: [first, ...rest], ...(due !== undefined && { due }) } : undefined
}

type AtRest = Extract<SegmentEnd, { status: 'waiting' | 'sleeping' }>
type Without<End, Keys extends PropertyKey> = End extends unknown ? Omit<End, Keys> : never

/** The end of a segment that waits, without what it continues from. */
export const endAtRest = (snapshot: unknown, rest: Rest): Without<AtRest, 'snapshot' | 'seen'> => {
  if (!('calls' in rest)) return { status: 'sleeping', due: rest.due }
  const { calls, due } = rest
  const finishReason = waitReason(calls)
  const result = {
    ...partialResult(snapshot),
    status: 'waiting' as const,
    finishReason,
    pendingApproval: { calls },
  }
  return { status: 'waiting', result, ...(due !== undefined && { due }) }
}

/**
 * Says whether a timer of a run may fire in a segment. A run that waits is in no process: it continues with another segment,
 * so every incarnation of this one comes to the same end, whatever the time is then. Sub-agents keep their own time.
 */
export const mayFire = (at: number, run: AnyActorRef, now: number): boolean => {
  const { value } = run.getSnapshot()
  return at <= now || !factsOf(value)?.waitsFor || isBelowRun(run)
}

const isBelowRun = ({ _parent: above }: AnyActorRef): boolean =>
  above !== undefined && (isRun(above.getSnapshot().context) || isBelowRun(above))
