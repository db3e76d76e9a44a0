import { appended, type Batches, type MergedPieces } from '../messages/growing.ts'
import type { JsonObject } from '../messages/json.ts'
import type { ChatMessage, DataPart, LinkPart, Part } from '../messages/messages.ts'
import { addMetadata, mergeMetadata, unseenMetadata, wholeMetadata } from '../messages/metadata.ts'
import type { FinishReason, Usage } from '../messages/result.ts'
import type { Delta, WireToolCall } from './delta.ts'

/** The model message that is being received. Plain JSON. */
export type Accumulated = {
  text: string
  thinking: string
  /** Generated images and the like. */
  media: Batches<DataPart | LinkPart>
  calls: WireToolCall[]
  metadata: MergedPieces<JsonObject>
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

const frozenList = (): never[] => Object.freeze([]) as never[]

/** Every answer of every run begins with this object, so it must not change. */
export const nothingAccumulated: Accumulated = Object.freeze({
  text: '',
  thinking: '',
  media: frozenList(),
  calls: frozenList(),
  metadata: frozenList(),
  opaque: Object.freeze({}),
  responseId: '',
  usage: null,
  finish: null,
})

/** The accumulator statewire uses by default. */
export const messageAccumulator: Accumulator = {
  accumulate(accumulated, deltas) {
    const next = copyOf(accumulated)
    let calls: CallList | undefined
    for (const delta of deltas) {
      switch (delta.type) {
        // Appending makes a rope: constant cost, unless the whole text is read in between.
        case 'text':
          next.text += delta.text
          break
        case 'thinking':
          next.thinking += delta.text
          break
        case 'part':
          next.media = appended(next.media, [delta.part])
          break
        case 'toolCall':
          calls ??= new CallList(next.calls)
          calls.add(delta.call)
          break
        case 'metadata':
          next.metadata = withUnseen(next.metadata, delta.metadata)
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
    if (calls) next.calls = calls.calls
    return next
  },

  consolidate({ text, thinking, media, metadata, opaque }) {
    const parts: Part[] = [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...media.flat()]
    const kept = { ...wholeMetadata(metadata), ...opaque, ...(thinking !== '' && { thinking }) }
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

const withUnseen = (known: MergedPieces<JsonObject>, incoming: JsonObject): MergedPieces<JsonObject> => {
  const unseen = unseenMetadata(
    known.map(({ value }) => value),
    incoming,
  )
  return Object.keys(unseen).length === 0 ? known : addMetadata(known, unseen)
}

/** The contents of a list of calls, handed on when the list grows: nothing is compared twice. */
const contents = new WeakMap<readonly WireToolCall[], Set<string>>()

/** The calls with those of one read. A call that is sent twice under one id, with the same content, is one call. */
class CallList {
  readonly calls: WireToolCall[]
  readonly #known: Set<string>

  constructor(calls: readonly WireToolCall[]) {
    this.calls = [...calls]
    this.#known = contents.get(calls) ?? new Set(calls.map(contentOf))
    contents.delete(calls)
    contents.set(this.calls, this.#known)
  }

  add(call: WireToolCall): void {
    const content = contentOf(call)
    if (call.id !== '' && this.#known.has(content)) return
    this.#known.add(content)
    this.calls.push(call)
  }
}

const contentOf = ({ id, name, arguments: args }: WireToolCall): string => JSON.stringify([id, name, args])
