import { describeThrown, errorDataOf } from '../../src/messages/errors.ts'
import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import { answerTextOf, type ChatMessage, textOf } from '../../src/messages/messages.ts'
import { wholeMetadata } from '../../src/messages/metadata.ts'
import type { Reached } from '../../src/messages/result.ts'
import type { RequestPrefix } from '../model/requestPrefix.ts'
import type { AgentOutput } from './events.ts'
import type { StreamingState } from './streamingState.ts'

/** Says whether the policy refused this answer: it stays in the conversation, but is not part of the result. */
const isRefusedAnswer = ({ metadata }: ChatMessage): boolean => metadata?.refused !== undefined

/** The texts of a run's model messages as one text. */
export const textOfRun = (messages: readonly ChatMessage[]): string =>
  messages
    .filter((message) => message.role === 'model' && !isRefusedAnswer(message))
    .map(textOf)
    .filter((text) => text !== '')
    .join('\n')

/** The text of the last model message that has any. */
export const lastText = (messages: readonly ChatMessage[]): string => {
  const last = messages.findLast(
    (message) => message.role === 'model' && !isRefusedAnswer(message) && textOf(message) !== '',
  )
  return last ? answerTextOf(last) : ''
}

/** The data for the output of a run. */
export type RunResult = Pick<StreamingState, 'messages' | 'totals' | 'failure' | 'abortReason'> & {
  /** The policy as the run leaves it. */
  policy?: JsonObject
}

/** Says whether the data of a chart has a result: a user's chart may keep its data differently. */
export const isRunResult = (context: unknown): context is RunResult =>
  isJsonObject(context) && isJsonObject(context.totals) && Array.isArray(context.messages)

/** The run as one result, everything merged or summed. */
export const resultOf = ({ messages, totals, policy }: RunResult): Reached => ({
  id: totals.responseId,
  output: textOfRun(messages),
  answer: lastText(messages),
  messages,
  finishReason: totals.finishReason,
  ...(totals.rawFinishReason !== null && { rawFinishReason: totals.rawFinishReason }),
  metadata: wholeMetadata(totals.metadata),
  ...(totals.usage && { usage: totals.usage }),
  ...(totals.warnings && { warnings: totals.warnings }),
  ...(policy && { policy }),
})

/** The last request of a run, by its output: the next run of the conversation is compared with it. */
const prefixes = new WeakMap<AgentOutput, RequestPrefix>()

export const prefixOf = (output: AgentOutput): RequestPrefix | undefined => prefixes.get(output)

const withPrefix = (output: AgentOutput, { totals }: RunResult): AgentOutput => {
  if (totals.prefix) prefixes.set(output, totals.prefix)
  return output
}

/** Notes a request to end the run. Commands may come from anywhere, so the context keeps only plain texts. */
export const abortedBy = (
  { totals }: RunResult,
  { reason = '' }: { reason?: string | undefined },
): Pick<RunResult, 'abortReason' | 'totals'> => ({
  abortReason: describeThrown(reason),
  totals: { ...totals, finishReason: 'aborted' },
})

/** The output of a run that is complete. */
export const completeOutput = (state: RunResult): AgentOutput =>
  withPrefix({ status: 'complete', ...resultOf(state) }, state)

/** The output of a run that failed: its error and its partial result. */
export const failedOutput = (state: RunResult): AgentOutput => {
  const error = state.failure ?? errorDataOf('The run failed without a reason.')
  return withPrefix({ status: 'failed', error, ...resultOf(state) }, state)
}

/** The output of a run that was aborted: the reason and its partial result. */
export const abortedOutput = (state: RunResult): AgentOutput =>
  withPrefix({ status: 'aborted', reason: state.abortReason, ...resultOf(state) }, state)
