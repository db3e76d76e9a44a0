import type { JsonObject } from '../messages/json.ts'
import type { ChatMessage, DataPart, LinkPart, Part } from '../messages/messages.ts'
import { mergeMetadata, unseenMetadata } from '../messages/metadata.ts'
import type { FinishReason, Usage } from '../messages/result.ts'
import type { Delta, WireToolCall } from './delta.ts'

/** The model message that is being received. Plain JSON. */
export type Accumulated = {
  text: string
  thinking: string
  media: (DataPart | LinkPart)[]
  calls: WireToolCall[]
  metadata: JsonObject
  /** Data to be returned to the provider unseen, by protocol. */
  opaque: JsonObject
  responseId: string
  usage: Usage | null
  /** Set once the stream said that it is complete. */
  finish: { reason: FinishReason; raw?: string; pause?: boolean } | null
}

/**
 * Builds a model message from deltas. Replaceable: `new Agent(model, { accumulator })`.
 *
 * `accumulate` takes the deltas of one network read and must cost the same however much came before.
 */
export type Accumulator = {
  /** The message with the deltas added; the one given is not changed. */
  accumulate(accumulated: Accumulated, deltas: readonly Delta[]): Accumulated
  /** The finished message: one text part, then media; the engine adds the tool calls, in order, with their ids. */
  consolidate(accumulated: Accumulated): ChatMessage
}

export const nothingAccumulated: Accumulated = {
  text: '',
  thinking: '',
  media: [],
  calls: [],
  metadata: {},
  opaque: {},
  responseId: '',
  usage: null,
  finish: null,
}

/** The accumulator statewire uses by default. */
export const messageAccumulator: Accumulator = {
  accumulate(accumulated, deltas) {
    const next = copyOf(accumulated)
    for (const delta of deltas) {
      switch (delta.type) {
        // Appending makes a rope: constant cost, as long as nobody reads the whole text in between.
        case 'text':
          next.text += delta.text
          break
        case 'thinking':
          next.thinking += delta.text
          break
        case 'part':
          next.media = [...next.media, delta.part]
          break
        case 'toolCall':
          next.calls = mergeCall(next.calls, delta.call)
          break
        case 'metadata':
          next.metadata = mergeMetadata(next.metadata, unseenMetadata(next.metadata, delta.metadata))
          break
        case 'opaque':
          next.opaque = mergeMetadata(next.opaque, { [delta.protocol]: delta.data })
          break
        case 'response':
          next.responseId ||= delta.id
          break
        case 'usage':
          next.usage = { ...next.usage, ...delta.usage }
          break
        case 'finish': {
          const { type: _, ...finish } = delta
          next.finish = finish
          break
        }
      }
    }
    return next
  },

  consolidate({ text, thinking, media, metadata, opaque }) {
    const parts: Part[] = [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...media]
    const kept = { ...metadata, ...opaque, ...(thinking !== '' && { thinking }) }
    return { role: 'model', parts, ...(Object.keys(kept).length > 0 && { metadata: kept }) }
  },
}

/** Written out because it is made for every read: see `afterRead`. */
const copyOf = (accumulated: Accumulated): Accumulated => ({
  text: accumulated.text,
  thinking: accumulated.thinking,
  media: accumulated.media,
  calls: accumulated.calls,
  metadata: accumulated.metadata,
  opaque: accumulated.opaque,
  responseId: accumulated.responseId,
  usage: accumulated.usage,
  finish: accumulated.finish,
})

/** A call that is told twice under one id, with the same content, is one call. */
const mergeCall = (calls: WireToolCall[], call: WireToolCall): WireToolCall[] =>
  call.id !== '' && calls.some((known) => known.id === call.id && isSameCall(known, call))
    ? calls
    : [...calls, call]

const isSameCall = (a: WireToolCall, b: WireToolCall): boolean =>
  a.name === b.name && JSON.stringify(a.arguments) === JSON.stringify(b.arguments)
