import type { Actor } from 'xstate'
import { isRunResult, lastText, resultOf, textOfRun } from '../../machines/agent/agentOutput.ts'
import type { AgentMachine } from '../../machines/agent/agentSnapshot.ts'
import { statePath } from '../../machines/agent/states.ts'
import { nothingReached, outcomeOf } from '../agent/runOutcome.ts'
import {
  ConfigurationError,
  describeThrown,
  OrchestrationError,
  type StatewireError,
} from '../messages/errors.ts'
import { isJsonObject } from '../messages/json.ts'
import { messageFlaw } from '../messages/messageFlaw.ts'
import type { ChatMessage } from '../messages/messages.ts'
import type { DurableResult } from './runs.ts'
import { messagesOf } from './snapshots.ts'

/** The result of a run that is over, by its output; undefined if it has none. Throws the error of one that failed. */
export const endResult = (output: unknown): DurableResult | undefined => {
  const outcome = outcomeOf(output)
  if (!outcome) return undefined
  if ('error' in outcome) throw outcome.error()
  const { pendingApproval: _, ...result } = outcome.result
  return result
}

/** The partial result of a run that is not over, by its snapshot. A user's chart may keep its data differently. */
export const partialResult = (snapshot: unknown): DurableResult & { pendingApproval?: never } => {
  const context = isJsonObject(snapshot) ? snapshot.context : undefined
  const { pendingApproval: _, ...known } = isRunResult(context) ? resultOf(context) : nothingReached
  const messages = messagesOf(snapshot).filter(isMessage)
  return { ...known, messages, output: textOfRun(messages), answer: lastText(messages) }
}

/** The error of a chart that broke instead of ending. A chart that refuses its input or snapshot did not break. */
export const brokenError = (actor: Actor<AgentMachine>, cause: unknown): StatewireError => {
  if (cause instanceof ConfigurationError) return cause
  const { id: orchestrator = 'unknown' }: { id?: string } = actor.logic
  const state = statePath(actor.getSnapshot().value) || 'its only state'
  const problem = `The machine "${orchestrator}" broke in ${state}: ${describeThrown(cause)}`
  return new OrchestrationError(problem, { cause, orchestrator, state })
}

export const isMessage = (value: unknown): value is ChatMessage => messageFlaw(value) === undefined
