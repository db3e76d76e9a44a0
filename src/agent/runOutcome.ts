import { isRunResult, lastText, resultOf, textOfRun } from '../../machines/agent/agentOutput.ts'
import type { AgentOutput } from '../../machines/agent/events.ts'
import { statePath } from '../../machines/agent/states.ts'
import { messagesIn } from '../../machines/tools/pendingCalls.ts'
import {
  AbortedError,
  ConfigurationError,
  describeThrown,
  errorFrom,
  OrchestrationError,
  type StatewireError,
} from '../messages/errors.ts'
import { isJsonObject } from '../messages/json.ts'
import { isMessage } from '../messages/messageFlaw.ts'
import type { ChatMessage } from '../messages/messages.ts'
import type { ChatResult, Reached, SendResult } from '../messages/result.ts'

/** The end of a run, or its wait. Its error is made on request, so that the stack names the caller. */
export type RunOutcome = { result: SendResult } | { error: () => Error }

export const isWaiting = (outcome: RunOutcome): boolean =>
  'result' in outcome && outcome.result.status === 'waiting'

/** The outcome of an output; undefined if a user's machine ended with something else. */
export const outcomeOf = (output: unknown): RunOutcome | undefined => {
  if (!isOutput(output)) return undefined
  // A prompt that was refused need not be a message.
  const messages = output.messages.filter(isMessage)
  if (output.status === 'failed') {
    const { status: _, error, ...reached } = output
    return { error: () => errorFrom(error, withAnswer({ ...reached, messages })) }
  }
  if (output.status === 'aborted') {
    const { status: _, reason, ...reached } = output
    return { error: () => abortedError(reason, withAnswer({ ...reached, messages })) }
  }
  const { status, pendingApproval: _, ...reached } = output
  return messages.length === reached.messages.length
    ? { result: { ...withAnswer(reached), status } }
    : undefined
}

const withAnswer = <R extends Omit<ChatResult, 'pendingApproval'> & Partial<Reached>>(
  reached: R,
): R & { answer: string } => ({
  ...reached,
  answer: reached.answer ?? lastText(reached.messages),
})

const isOutput = (output: unknown): output is AgentOutput => {
  if (!isJsonObject(output)) return false
  const { status, output: text, messages, error } = output
  const isEnd = status === 'complete' || status === 'aborted' || (status === 'failed' && isJsonObject(error))
  return isEnd && typeof text === 'string' && Array.isArray(messages)
}

/**
 * The result of a run so far, from its live or stored snapshot. `emitted` has messages that may not have reached the
 * data of an orchestrator yet.
 */
export const partialResult = (snapshot: unknown, emitted: readonly ChatMessage[] = []): Reached => {
  const context = isJsonObject(snapshot) ? snapshot.context : undefined
  const known = isRunResult(context) ? resultOf(context) : nothingReached
  const added = messagesIn(snapshot)
  const messages = added.length < emitted.length ? [...emitted] : added
  return { ...known, messages, output: textOfRun(messages), answer: lastText(messages) }
}

/** The error of a machine that broke instead of ending. An unusable input is a refusal, not a break. */
export const brokenError = (
  actor: { logic: object; getSnapshot(): { value?: unknown } },
  cause: unknown,
  { name, partial }: { name?: string | undefined; partial?: Reached } = {},
): StatewireError => {
  if (cause instanceof ConfigurationError) return cause
  const { id = 'unknown' }: { id?: string } = actor.logic
  const orchestrator = name ?? id
  const state = statePath(actor.getSnapshot().value) || 'its only state'
  const problem = `The machine "${orchestrator}" broke in ${state}: ${describeThrown(cause)}`
  return new OrchestrationError(problem, { cause, orchestrator, state, partial })
}

export const abortedError = (reason: string, partial: Reached): AbortedError =>
  new AbortedError(reason === '' ? 'The run was aborted.' : `The run was aborted: ${reason}`, { partial })

/** The error of a run whose signal was aborted before it began. */
export const neverStarted = (signal: AbortSignal | undefined): AbortedError =>
  abortedError(reasonOf(signal), nothingReached)

export const reasonOf = (signal: AbortSignal | undefined): string =>
  signal?.reason === undefined ? '' : describeThrown(signal.reason)

export const nothingReached: Reached = {
  id: '',
  output: '',
  answer: '',
  messages: [],
  finishReason: 'aborted',
  metadata: {},
}
