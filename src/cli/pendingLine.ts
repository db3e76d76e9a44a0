import { limitSentence } from '../../machines/agent/limits.ts'
import { reachedIn } from '../../machines/agent/limits.ts'
import type { PendingCall } from '../messages/result.ts'
import { callLine } from './toolLine.ts'

/** What a run waits for, in one line: a call, or the limit that it reached. */
export const pendingLine = (call: PendingCall): string =>
  call.kind === 'limit' ? limitSentence(reachedIn(call.arguments)) : callLine(call)
