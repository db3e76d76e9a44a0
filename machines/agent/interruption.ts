import { type ChatMessage, textOf, textPart, toolCallsOf } from '../../src/messages/messages.ts'
import { assignToolIds } from '../../src/model/toolIds.ts'
import { missingResult, resultMessage } from '../tools/results.ts'
import { currentCalls } from '../tools/round.ts'
import { answerTaken, append, type StreamingState, totalsAfter } from './streamingState.ts'

/**
 * What an interrupted run leaves behind, so that the history stays valid and nothing is lost: results for every call
 * (those that did not run say so), and the text received so far as a marked model message. The marked message is also
 * there, empty, after a tool round: a conversation cannot continue from two user messages in a row.
 */
const interruptedMessages = (state: StreamingState, newId: () => string): ChatMessage[] => {
  if (isRefused(state)) return []
  const marked = { interrupted: state.totals.finishReason }
  const nothing: ChatMessage = { role: 'model', parts: [], metadata: marked }
  if (currentCalls(state).length > 0) return [resultMessage(state), nothing]
  const partial = partialMessage(state, newId)
  const calls = toolCallsOf(partial)
  if (calls.length > 0) {
    return [partial, { role: 'user', parts: calls.map(missingResult(state)) }, nothing]
  }
  if (partial.parts.length > 0) return [{ ...partial, metadata: { ...partial.metadata, ...marked } }]
  // The last message is the user's: the prompt, or results.
  return state.messages.some((message) => message.role === 'model') ? [nothing] : []
}

/** The input was not accepted: its problems are not part of this run. */
const isRefused = ({ step }: StreamingState): boolean => step === 0

/** What was received so far. Signed and encrypted blocks are left out: half of one is worth nothing. */
const partialMessage = (state: StreamingState, newId: () => string): ChatMessage => {
  const { text, thinking, calls } = state.answer.accumulated
  const whole = (state.paused ? textOf(state.paused) : '') + text
  const complete = calls.filter((call) => call.argumentsError === undefined)
  const { parts } = assignToolIds(complete, state.history, newId)
  return {
    role: 'model',
    parts: [...(whole === '' ? [] : [textPart(whole)]), ...parts],
    ...(thinking !== '' && { metadata: { thinking } }),
  }
}

/** Closes the books of a run that did not complete. */
export const settle = (
  state: StreamingState,
  newId: () => string,
): { change: Partial<StreamingState> & Pick<StreamingState, 'totals'>; messages: ChatMessage[] } => {
  const messages = interruptedMessages(state, newId)
  return {
    messages,
    change: {
      ...append(state, ...messages),
      ...answerTaken(state),
      totals: {
        ...totalsAfter(state),
        rawFinishReason:
          state.failure?.rawFinishReason ??
          state.answer.accumulated.finish?.raw ??
          state.totals.rawFinishReason,
      },
      paused: null,
    },
  }
}
