import { lastText } from '../../machines/agent/agentOutput.ts'
import type { AgentOutput } from '../../machines/agent/events.ts'
import { AbortedError, describeThrown, errorFrom } from '../messages/errors.ts'
import { isJsonObject } from '../messages/json.ts'
import { messageFlaw } from '../messages/messageFlaw.ts'
import type { ChatResult, SendResult } from '../messages/result.ts'

/** How a run ended, or that it waits. An error is made when it is asked for, so that its stack names the caller. */
export type RunOutcome = { result: SendResult } | { error: () => Error }

export const isWaiting = (outcome: RunOutcome): boolean =>
  'result' in outcome && outcome.result.pendingApproval !== undefined

/** The outcome of an output; undefined if a user's machine ended with something else. */
export const outcomeOf = (output: unknown): RunOutcome | undefined => {
  if (!isOutput(output)) return undefined
  // A prompt that was refused need not be a message.
  const messages = output.messages.filter((each) => messageFlaw(each) === undefined)
  if (output.status === 'failed') {
    const { status: _, error, ...reached } = output
    return { error: () => errorFrom(error, withAnswer({ ...reached, messages })) }
  }
  if (output.status === 'aborted') {
    const { status: _, reason, ...reached } = output
    return { error: () => abortedError(reason, withAnswer({ ...reached, messages })) }
  }
  const { status: _, ...reached } = output
  return messages.length === reached.messages.length ? { result: withAnswer(reached) } : undefined
}

const withAnswer = (reached: ChatResult & Partial<SendResult>): SendResult => ({
  ...reached,
  answer: reached.answer ?? lastText(reached.messages),
})

const isOutput = (output: unknown): output is AgentOutput => {
  if (!isJsonObject(output)) return false
  const { status, output: text, messages, error } = output
  const isEnd = status === 'complete' || status === 'aborted' || (status === 'failed' && isJsonObject(error))
  return isEnd && typeof text === 'string' && Array.isArray(messages)
}

export const abortedError = (reason: string, partial: SendResult): AbortedError =>
  new AbortedError(reason === '' ? 'The run was aborted.' : `The run was aborted: ${reason}`, { partial })

/** The error of a run whose signal was aborted before it began. */
export const neverStarted = (signal: AbortSignal | undefined): AbortedError =>
  abortedError(reasonOf(signal), nothingReached)

export const reasonOf = (signal: AbortSignal | undefined): string =>
  signal?.reason === undefined ? '' : describeThrown(signal.reason)

export const nothingReached: SendResult = {
  id: '',
  output: '',
  answer: '',
  messages: [],
  finishReason: 'aborted',
  metadata: {},
}
