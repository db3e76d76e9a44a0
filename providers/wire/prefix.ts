import type { JsonObject, JsonValue } from '../../src/messages/json.ts'
import { type ChatMessage, textOf, toolCallsOf } from '../../src/messages/messages.ts'
import type { Delta } from '../../src/model/delta.ts'
import { arrayAt, stringAt } from './json.ts'
import type { Decoder } from './protocol.ts'
import { hashOf } from './request.ts'
import { isRepeated } from './written.ts'

// A signed block, or a response that a server keeps, is only worth something after the conversation that it was made in.
// Each such answer keeps a hash of what preceded it, beside its other data for the provider.

/** The beta of Claude's API that `block_binding` belongs to. */
export const bindingBeta = 'thinking-binding-controls-2026-08-01'

/** The next hash of a chain. Cache markers move with each request, and do not count. */
export const chained = (before: string, next: JsonValue | undefined): string =>
  hashOf(`${before}${JSON.stringify(next, (key, value) => (key === 'cache_control' ? undefined : value))}`)

/** The hashes at the places of messages and blocks: every request repeats them, and reads only what is new. */
const hashes = new WeakMap<object, { before: string; role: string; hash: string }>()

/** The next hash of a chain, after the content of a message or a block of one. */
export const chainedBy = (source: object, before: string, role: string, content: JsonValue): string => {
  const known = hashes.get(source)
  if (known?.before === before && known.role === role) return known.hash
  const hash = chained(before, [role, content])
  if (isRepeated(source)) hashes.set(source, { before, role, hash })
  return hash
}

/** The hash of everything that was sent before an answer; undefined for one that an older version stored. */
export const prefixAt = (opaque: JsonObject | undefined): string | undefined => {
  // A list, because the data of an answer that was paused is joined: the first is the one before its beginning.
  const [first] = arrayAt(opaque, 'prefix') ?? []
  return typeof first === 'string' ? first : undefined
}

/** A conversation without what only providers read. */
export const prefixOfTurns = (turns: readonly ChatMessage[]): string =>
  turns.reduce((hash, turn) => chainedBy(turn, hash, turn.role, turn.parts), '')

/** True for a message whose text or calls are not those that came. */
export const isEdited = (message: ChatMessage, opaque: JsonObject | undefined): boolean => {
  const own = stringAt(opaque, 'content')
  return own !== undefined && own !== contentHash(textOf(message), toolCallsOf(message))
}

const contentHash = (text: string, calls: readonly { name: string; arguments: JsonObject }[]): string =>
  hashOf(JSON.stringify([text, calls.map(({ name, arguments: args }) => [name, args])]))

/** A decoder that adds to the data for the provider what preceded the answer, and what it said. */
export const withPrefix = (decoder: Decoder, prefix: string | undefined): Decoder => {
  if (prefix === undefined) return decoder
  let text = ''
  const calls: { name: string; arguments: JsonObject }[] = []
  const stamped = (delta: Delta): Delta => {
    if (delta.type === 'text') text += delta.text
    if (delta.type === 'toolCall') calls.push(delta.call)
    if (delta.type !== 'opaque') return delta
    return { ...delta, data: { ...delta.data, prefix: [prefix], content: contentHash(text, calls) } }
  }
  return {
    push: (event) => decoder.push(event).map(stamped),
    ...(decoder.readDone && { readDone: () => decoder.readDone?.().map(stamped) ?? [] }),
    end: (isBroken) => decoder.end(isBroken).map(stamped),
  }
}
