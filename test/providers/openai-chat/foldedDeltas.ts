import type { Decoder, WireEvent } from '../../../providers/wire/protocol.ts'
import type { Usage } from '../../../src/messages/result.ts'
import type { Delta, WireToolCall } from '../../../src/model/delta.ts'

export const decodeAll = (decoder: Decoder, events: readonly WireEvent[]): Delta[] => [
  ...events.flatMap((event) => decoder.push(event)),
  ...decoder.end(),
]

/** The sum of a stream, in the recordings' terms. */
export const folded = (deltas: readonly Delta[]) => {
  let text = ''
  let thinking = ''
  let responseId: string | undefined
  let finishReason: string | undefined
  let error: unknown
  let usage: Usage = {}
  const toolCalls: WireToolCall[] = []
  for (const delta of deltas) {
    if (delta.type === 'text') text += delta.text
    if (delta.type === 'thinking') thinking += delta.text
    if (delta.type === 'toolCall') toolCalls.push(delta.call)
    if (delta.type === 'response') responseId = delta.id
    if (delta.type === 'usage') usage = { ...usage, ...delta.usage }
    if (delta.type === 'finish') finishReason = delta.raw
    if (delta.type === 'error') {
      error = delta.error
      finishReason = delta.raw
    }
  }
  const counts = { input: usage.inputTokens, output: usage.outputTokens }
  const details = { cached: usage.cachedInputTokens, reasoning: usage.reasoningTokens }
  return { text, thinking, toolCalls, finishReason, responseId, error, usage: { ...counts, ...details } }
}
