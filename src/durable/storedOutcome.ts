import { isRunResult, lastText, resultOf, textOfRun } from '../../machines/agent/agentOutput.ts'
import { nothingReached, outcomeOf } from '../agent/runOutcome.ts'
import { errorFrom, OrchestrationError } from '../messages/errors.ts'
import { isJsonObject } from '../messages/json.ts'
import { messageFlaw } from '../messages/messageFlaw.ts'
import type { ChatMessage } from '../messages/messages.ts'
import { type SendResult, waitReason } from '../messages/result.ts'
import type { DurableResult } from './runs.ts'
import { hostedFrom } from './sqlite/head.ts'
import type { RunRow } from './sqlite/RunRows.ts'
import type { OpenStore } from './sqlite/sqlite.ts'
import { messagesOf } from './standing.ts'

/** The outcome of a paused or finished run: its result, or what it waits for. Throws its error. */
export const storedOutcome = ({ items }: OpenStore, run: RunRow): DurableResult => {
  const from = hostedFrom(run.head, items.load(run.n, run.base))
  const snapshot: unknown = 'snapshot' in from ? from.snapshot : undefined
  const outcome = isJsonObject(snapshot) ? outcomeOf(snapshot.output) : undefined
  if (outcome && 'error' in outcome) throw outcome.error()
  if (outcome) {
    const { pendingApproval: _, ...result } = outcome.result
    return result
  }
  const partial = partialOf(snapshot)
  if (run.error) throw errorFrom(run.error, partial)
  const [first, ...rest] = run.pending
  if (!first) throw new OrchestrationError(`The run "${run.id}" ended without a result.`, { partial })
  return { ...partial, finishReason: waitReason(run.pending), pendingApproval: { calls: [first, ...rest] } }
}

/** What a run has reached that has not ended. */
const partialOf = (snapshot: unknown): SendResult & { pendingApproval?: never } => {
  const context = isJsonObject(snapshot) ? snapshot.context : undefined
  const { pendingApproval: _, ...known } = isRunResult(context) ? resultOf(context) : nothingReached
  const messages = messagesOf(snapshot).filter(isMessage)
  return { ...known, messages, output: textOfRun(messages), answer: lastText(messages) }
}

const isMessage = (value: unknown): value is ChatMessage => messageFlaw(value) === undefined
