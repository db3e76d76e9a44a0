import type { AnyMachineSnapshot } from 'xstate'
import type { PendingCall } from '../../src/messages/result.ts'
import type { AgentReport } from '../agent/events.ts'
import { copyOf } from '../agent/streamingState.ts'
import { unattendedIn } from '../tools/pendingCalls.ts'
import { keysOf } from '../tools/round.ts'

/**
 * The report of a step of a run to the user's machine above it; undefined for most steps. A chunk costs two look-ups: it
 * changes neither the tags nor a wait.
 */
export const reportBetween = (
  before: AnyMachineSnapshot | undefined,
  after: AnyMachineSnapshot,
  id: string,
): AgentReport | undefined => {
  if (before?.tags === after.tags && !after.tags.has('waiting')) return undefined
  if (after.status === 'done')
    return before?.status === 'done' ? undefined : { type: 'agent.done', id, output: after.output }
  const calls = questionsOf(after)
  if (keysOf(calls) === keysOf(before ? questionsOf(before) : [])) return undefined
  // A copy: what the parent does to it must not change the run.
  return calls.length > 0
    ? { type: 'agent.waiting', id, calls: copyOf(calls) }
    : { type: 'agent.working', id }
}

/** The questions that a run waits with, and that no `onApproval` is asked. */
const questionsOf = (snapshot: AnyMachineSnapshot): PendingCall[] =>
  snapshot.tags.has('waiting') ? unattendedIn(snapshot) : []
