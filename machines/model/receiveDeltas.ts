import type { JsonObject } from '../../src/messages/json.ts'
import { addMetadata, unseenMetadata } from '../../src/messages/metadata.ts'
import { addWarnings } from '../../src/messages/result.ts'
import type { Accumulator } from '../../src/model/accumulator.ts'
import { chunkOf } from '../agent/announcements.ts'
import type { AgentEmitted, ChildEvent } from '../agent/events.ts'
import { brokenPart } from '../agent/failures.ts'
import { copyOf, type StreamingState } from '../agent/streamingState.ts'
import type { FastPath } from '../logic/chartLogic.ts'

type DeltasEvent = Extract<ChildEvent, { type: 'model.deltas' }>

/**
 * Takes in the deltas of one network read, and returns the next state and what listeners get. The chart's action and the fast
 * path both use this function. It costs the same at the first chunk and at the millionth. What is held is shown once the
 * policy has accepted the answer.
 */
export const receiveDeltas = (
  state: StreamingState,
  { deltas, at, sent = state.answer.sent }: Pick<DeltasEvent, 'deltas' | 'at' | 'sent'>,
  accumulator: Accumulator,
  isHeld = false,
): { context: StreamingState; emitted: AgentEmitted[] } => {
  const { answer, totals } = state
  const accumulated = accumulator.accumulate(answer.accumulated, deltas)
  const emitted: AgentEmitted[] = []
  let { chunks, toolCallPieces, newlineDue, shown } = answer
  let after = totals
  const show = (output: string, metadata: JsonObject) => {
    chunks += 1
    emitted.push(chunkOf(accumulated.responseId, output, [], metadata))
  }
  for (const delta of deltas) {
    switch (delta.type) {
      case 'text':
        if (delta.text === '' || isHeld) break
        show(newlineDue ? `\n${delta.text}` : delta.text, {})
        newlineDue = false
        break
      case 'thinking':
        if (delta.text !== '' && !isHeld) show('', { thinking: delta.text })
        break
      case 'metadata': {
        const seen = [...totals.metadata, ...shown].map(({ value }) => value)
        const unseen = unseenMetadata(seen, delta.metadata)
        if (Object.keys(unseen).length === 0) break
        if (!isHeld) show('', copyOf(unseen))
        shown = addMetadata(shown, unseen)
        break
      }
      case 'warning': {
        const { warnings, added } = addWarnings(after.warnings, [copyOf(delta.warning)])
        after = { ...after, warnings }
        for (const warning of added) emitted.push({ type: 'warning', ...copyOf(warning) })
        break
      }
      case 'toolDelta': {
        if (isHeld) break
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
      totals: after,
      answer: {
        accumulated,
        chunks,
        toolCallPieces,
        newlineDue,
        shown,
        askedAt,
        firstChunkAt,
        ...(sent && { sent }),
      },
    },
    emitted,
  }
}

/** A part of the engine that the user replaced has thrown. */
export const unreadable = (thrown: unknown, at: number): ChildEvent => ({
  type: 'model.failed',
  error: brokenPart(thrown, 'Accumulating'),
  at,
})

/** The fast path of reads after the first of an answer. */
export const readDeltas = (accumulator: Accumulator, isHeld = false): FastPath => ({
  read: ({ context }, event) => {
    if (event.type !== 'model.deltas' || event.seq === 0) return undefined
    try {
      return receiveDeltas(context, event as DeltasEvent, accumulator, isHeld)
    } catch (thrown) {
      return { instead: unreadable(thrown, event.at) }
    }
  },
  replaces: ['receive', 'isNewStream'],
})
