import type { Snapshot } from 'xstate'
import { limitSentence } from '../../machines/limitSentence.ts'
import { reachedIn } from '../../machines/limits.ts'
import { pendingIn } from '../../machines/pendingCalls.ts'
import type { PendingCall } from '../messages/result.ts'
import { StoredRecord, type Subject } from './StoredRecord.ts'
import type { QuestionRow } from './wire.ts'

/** The limits that a run stands at, and those that it passes on from the runs below it. */
export const questionRows = (subject: Subject): QuestionRow[] =>
  pendingOf(subject).flatMap((call) =>
    call.kind === 'limit'
      ? [{ owner: subject.id, callId: call.id, text: limitSentence(reachedIn(call.arguments)) }]
      : [],
  )

const pendingOf = (subject: Subject): readonly PendingCall[] => {
  if (subject instanceof StoredRecord) return subject.info.pending
  try {
    return pendingIn(asLeft(subject.snapshot))
  } catch {
    // Actors of somebody else's kind may refuse to be looked at.
    return []
  }
}

/** A run that was put away still waits. */
const asLeft = (snapshot: Snapshot<unknown> | null): unknown =>
  snapshot?.status === 'stopped' ? { ...snapshot, status: 'active' } : snapshot
