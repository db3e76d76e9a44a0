import type { JsonObject } from '../src/messages/json.ts'
import { type ChatMessage, textOf } from '../src/messages/messages.ts'
import { mergeMetadata, unseenMetadata } from '../src/messages/metadata.ts'
import type { ChatResult } from '../src/messages/result.ts'
import type { Accumulator } from '../src/model/accumulator.ts'
import type { Delta } from '../src/model/delta.ts'
import type { AgentEmitted } from './events.ts'
import { afterRead, isNewlineDue, type StreamingState } from './streamingState.ts'

type Chunk = { type: 'chunk' } & ChatResult

export const chunkOf = (
  id: string,
  output: string,
  messages: ChatMessage[],
  metadata: JsonObject,
): Chunk => ({
  type: 'chunk',
  id,
  output,
  messages,
  finishReason: 'unspecified',
  metadata,
})

/** Tells those who only see chunks that the text of the current message is void and begins anew. */
export const restartChunk = (): Chunk => chunkOf('', '', [], { restart: true })

/** The same in a run. What came of the message before a provider's pause is still good: it is shown once more. */
export const restartChunks = (state: StreamingState): Chunk[] => {
  const kept = state.paused ? textOf(state.paused) : ''
  if (kept === '') return [restartChunk()]
  const isSetOff = isNewlineDue({ ...state, paused: null })
  return [restartChunk(), chunkOf(state.responseId, isSetOff ? `\n${kept}` : kept, [], {})]
}

/**
 * Takes in the deltas of one network read: the next state, and what listeners are told. The chart's action and the
 * fast lane both are this function. It costs the same at the first chunk and at the millionth.
 */
export const receiveDeltas = (
  state: StreamingState,
  { deltas, at }: { deltas: readonly Delta[]; at: number },
  accumulator: Accumulator,
): { state: StreamingState; emitted: AgentEmitted[] } => {
  const accumulated = accumulator.accumulate(state.accumulated, deltas)
  const emitted: AgentEmitted[] = []
  let { chunks, pieces, newlineDue, shown } = state
  const show = (output: string, metadata: JsonObject) => {
    chunks += 1
    emitted.push(chunkOf(accumulated.responseId, output, [], metadata))
  }
  for (const delta of deltas) {
    switch (delta.type) {
      case 'text':
        if (delta.text === '') break
        show(newlineDue ? `\n${delta.text}` : delta.text, {})
        newlineDue = false
        break
      case 'thinking':
        if (delta.text !== '') show('', { thinking: delta.text })
        break
      case 'metadata': {
        const unseen = unseenMetadata(mergeMetadata(state.metadata, shown), delta.metadata)
        if (Object.keys(unseen).length === 0) break
        show('', unseen)
        shown = mergeMetadata(shown, unseen)
        break
      }
      case 'toolDelta': {
        const { type: _, ...piece } = delta
        pieces += 1
        emitted.push({ type: 'tool.delta', ...piece })
      }
    }
  }
  const firstChunkAt = state.firstChunkAt ?? (chunks > 0 ? at : null)
  return {
    state: afterRead(state, { accumulated, chunks, pieces, newlineDue, shown, firstChunkAt }),
    emitted,
  }
}
