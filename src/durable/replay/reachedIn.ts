import { isRunResult, lastText, resultOf, textOfRun } from '../../../machines/agent/agentOutput.ts'
import { messagesIn } from '../../../machines/tools/pendingCalls.ts'
import { nothingReached } from '../../agent/runOutcome.ts'
import type { SendResult } from '../../messages/result.ts'

/** What a run has so far, by the snapshot of its actor. A user's orchestrator may keep its data differently. */
export const reachedIn = (snapshot: { context?: unknown }): SendResult => {
  const { context } = snapshot
  const known = isRunResult(context) ? resultOf(context) : nothingReached
  const messages = messagesIn(snapshot)
  return { ...known, messages, output: textOfRun(messages), answer: lastText(messages) }
}
