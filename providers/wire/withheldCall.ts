import type { FinishReason } from '../../src/messages/result.ts'
import type { Delta, WireToolCall } from '../../src/model/delta.ts'

/** What a model sees of a call that did not run because it may be incomplete. */
export const neverClosed =
  'The call was cut off before it was complete, so it was not run. Make the whole call again if it is still needed.'

/** A call that is kept but must not run. What was wrong with it before stays what is wrong with it. */
export const withheld = (call: WireToolCall, problem: string): WireToolCall =>
  call.argumentsError === undefined
    ? { ...call, argumentsRaw: call.argumentsRaw ?? JSON.stringify(call.arguments), argumentsError: problem }
    : call

const badEnds: Partial<Record<FinishReason, string>> = {
  contentFilter:
    'The call was not run: the answer was stopped by a content filter or a refusal before it was complete.',
  error: 'The call was not run: the provider ended the answer with an error before it was complete.',
}

/** The calls of an answer that ended for this reason: after a bad end none of them may run. */
export const callDeltas = (calls: readonly WireToolCall[], reason: FinishReason): Delta[] => {
  const problem = badEnds[reason]
  return calls.map((call) => ({
    type: 'toolCall',
    call: problem === undefined ? call : withheld(call, problem),
  }))
}
