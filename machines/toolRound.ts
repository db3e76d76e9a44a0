import { describeThrown } from '../src/messages/errors.ts'
import {
  type ChatMessage,
  type ToolCallPart,
  type ToolResultPart,
  textPart,
  toolCallsOf,
  toolResultsOf,
} from '../src/messages/messages.ts'
import { errorResult } from '../src/tools/toolExecutor.ts'
import type { StreamingState } from './streamingState.ts'

export const lastMessage = (state: StreamingState): ChatMessage | undefined => state.history.at(-1)

/** The calls of the current round. */
export const currentCalls = (state: StreamingState): ToolCallPart[] => {
  const last = lastMessage(state)
  return last?.role === 'model' ? toolCallsOf(last) : []
}

/** The calls of the round that still have to run. */
export const callsToRun = (state: StreamingState): ToolCallPart[] =>
  currentCalls(state).filter((call) => !state.results.some((result) => result.id === call.id))

export const isAfterTools = (state: StreamingState): boolean => {
  const last = lastMessage(state)
  return last !== undefined && toolResultsOf(last).length > 0
}

export const rejectedResult = (
  state: StreamingState,
  callId: string,
  reason = 'no reason given',
): ToolResultPart => {
  const call = currentCalls(state).find(({ id }) => id === callId)
  return errorResult(
    { id: callId, name: call?.name ?? '' },
    `A person rejected this call: ${describeThrown(reason)}`,
  )
}

/** The one user message that answers a round: every result, in call order, then what was steered meanwhile. */
export const resultMessage = (state: StreamingState): ChatMessage => ({
  role: 'user',
  parts: [
    ...currentCalls(state).map(
      (call) => state.results.find((result) => result.id === call.id) ?? missingResult(state, call),
    ),
    ...state.steering.map(textPart),
  ],
})

/** The honest answer for a call that was cut short: it never ran, or nobody knows how far it came. */
export const missingResult = (state: StreamingState, call: ToolCallPart): ToolResultPart =>
  errorResult(
    call,
    state.started.includes(call.id)
      ? 'The run was interrupted while this tool was running; whether it took effect is unknown.'
      : 'The run was interrupted before this tool started; it was not run.',
  )

export const steeringMessage = (state: StreamingState): ChatMessage => ({
  role: 'user',
  parts: state.steering.map(textPart),
})
