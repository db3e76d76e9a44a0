import type { JsonObject } from '../../src/messages/json.ts'
import { type ChatMessage, textOf } from '../../src/messages/messages.ts'
import { addMetadata, unseenMetadata } from '../../src/messages/metadata.ts'
import type { ChatResult } from '../../src/messages/result.ts'
import type { Accumulator } from '../../src/model/accumulator.ts'
import type { AgentEmitted, ChildEvent } from '../agent/events.ts'
import { broken } from '../agent/failures.ts'
import { copyOf, isNewlineDue, type StreamingState } from '../agent/streamingState.ts'
import type { Lane } from '../logic/fastPath.ts'

type Chunk = { type: 'chunk' } & ChatResult
type DeltasEvent = Extract<ChildEvent, { type: 'model.deltas' }>

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

/** Shows readers of chunks that the current message starts over, so that they discard its text. */
export const restartChunk = (): Chunk => chunkOf('', '', [], { restart: true })

/** The same in a run. The part of the message before a provider's pause is still valid: it is shown once more. */
export const restartChunks = (state: StreamingState): Chunk[] => {
  const kept = state.paused ? textOf(state.paused) : ''
  if (kept === '') return [restartChunk()]
  const isSetOff = isNewlineDue({ ...state, paused: null })
  return [restartChunk(), chunkOf(state.totals.responseId, isSetOff ? `\n${kept}` : kept, [], {})]
}

/** A message that joined the conversation, as listeners get it. */
export const announcementOf = (responseId: string, stored: ChatMessage): AgentEmitted[] => {
  const message = copyOf(stored)
  return [chunkOf(responseId, '', [message], {}), { type: 'message', message }]
}

/**
 * Takes in the deltas of one network read: the next state, and what listeners get. The chart's action and the lane for
 * reads both use this function. It costs the same at the first chunk and at the millionth.
 */
export const receiveDeltas = (
  state: StreamingState,
  { deltas, at }: Pick<DeltasEvent, 'deltas' | 'at'>,
  accumulator: Accumulator,
): { context: StreamingState; emitted: AgentEmitted[] } => {
  const { answer, totals } = state
  const accumulated = accumulator.accumulate(answer.accumulated, deltas)
  const emitted: AgentEmitted[] = []
  let { chunks, toolCallPieces, newlineDue, shown } = answer
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
        const seen = [...totals.metadata, ...shown].map(({ value }) => value)
        const unseen = unseenMetadata(seen, delta.metadata)
        if (Object.keys(unseen).length === 0) break
        show('', copyOf(unseen))
        shown = addMetadata(shown, unseen)
        break
      }
      case 'toolDelta': {
        const { type: _, ...piece } = delta
        toolCallPieces += 1
        emitted.push({ type: 'tool.delta', ...piece })
      }
    }
  }
  const firstChunkAt = answer.firstChunkAt ?? (chunks > 0 ? at : null)
  const { askedAt } = answer
  return {
    context: {
      ...state,
      answer: { accumulated, chunks, toolCallPieces, newlineDue, shown, askedAt, firstChunkAt },
    },
    emitted,
  }
}

/** A part of the engine that the user replaced has thrown. */
export const unreadable = (thrown: unknown, at: number): ChildEvent => ({
  type: 'model.failed',
  error: broken(thrown, 'Accumulating'),
  at,
})

/** The lane for reads after the first of an answer. */
export const readDeltas = (accumulator: Accumulator): Lane => ({
  read: ({ context }, event) => {
    if (event.type !== 'model.deltas' || event.seq === 0) return undefined
    try {
      return receiveDeltas(context, event as DeltasEvent, accumulator)
    } catch (thrown) {
      return { instead: unreadable(thrown, event.at) }
    }
  },
  standsFor: ['receive', 'isNewStream'],
})
