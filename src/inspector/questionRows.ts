import type { Snapshot } from 'xstate'
import { limitSentence } from '../../machines/agent/limits.ts'
import { reachedIn } from '../../machines/agent/limits.ts'
import { pendingIn } from '../../machines/tools/pendingCalls.ts'
import type { PendingCall } from '../messages/result.ts'
import { readable } from './readable.ts'
import { StoredRecord, type Subject } from './StoredRecord.ts'
import type { QuestionRow } from './wire.ts'

/** What a run waits for, and what it passes on from the runs below it. */
export const questionRows = (subject: Subject, secrets: readonly string[]): QuestionRow[] =>
  pendingOf(subject).map((call) => {
    const isLimit = call.kind === 'limit'
    return {
      owner: subject.id,
      callId: call.id,
      kind: call.kind ?? 'approval',
      name: isLimit ? '' : call.name,
      arguments: isLimit ? null : readable(call.arguments, secrets),
      isInDoubt: call.inDoubt === true,
      text: isLimit ? limitSentence(reachedIn(call.arguments)) : '',
    }
  })

const pendingOf = (subject: Subject): readonly PendingCall[] => {
  if (subject instanceof StoredRecord) return subject.info.pending
  try {
    return pendingIn(asLeft(subject.snapshot))
  } catch {
    // Actors of other kinds may throw when they are read.
    return []
  }
}

/** A paused run still waits. */
const asLeft = (snapshot: Snapshot<unknown> | null): unknown =>
  snapshot?.status === 'stopped' ? { ...snapshot, status: 'active' } : snapshot
