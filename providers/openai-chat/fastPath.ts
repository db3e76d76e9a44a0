import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import { hasOnly, parseWireObject } from '../wire/json.ts'

/**
 * Chunks with text mostly differ in nothing else: everything before and after the text is the same. Then only the text
 * must be read, which costs a third of reading the chunk. The pieces of one tool call are alike in the same way.
 */
export class ChunkTemplate {
  readonly #field: string
  readonly #textOf: (chunk: JsonObject) => string | undefined
  #before = ''
  #after = ''
  /** Templates in a row that fitted no chunk: OpenAI pads each with other letters, and then trying does not help. */
  #useless = 0

  /** `textOf`: the text of a parsed chunk in this field, if it brings nothing else. */
  constructor(field: string, textOf: (chunk: JsonObject) => string | undefined) {
    this.#field = `"${field}":`
    this.#textOf = textOf
  }

  /** The text of a chunk that is otherwise the one learnt from; undefined for any other. */
  read(data: string): string | undefined {
    const { length } = data
    const start = this.#before.length
    const end = length - this.#after.length
    if (start === 0 || start > end || !data.startsWith(this.#before) || !data.endsWith(this.#after))
      return undefined
    try {
      const text: unknown = JSON.parse(data.slice(start, end))
      if (typeof text !== 'string') return undefined
      this.#useless = 0
      return text
    } catch {
      return undefined
    }
  }

  /** Learns from a chunk that brings this text and nothing else that matters. */
  learn(data: string, text: string): void {
    if (this.#useless > 1) return
    this.#useless += 1
    const quoted = JSON.stringify(text)
    const at = data.indexOf(this.#field + quoted)
    const before = data.slice(0, at + this.#field.length)
    const after = data.slice(at + this.#field.length + quoted.length)
    // The same words may be elsewhere, too: another text in this place must be the text of the chunk.
    const other = `${text}.`
    const chunk = at === -1 ? undefined : parseWireObject(before + JSON.stringify(other) + after)
    const isPlace = isJsonObject(chunk) && this.#textOf(chunk) === other
    this.#before = isPlace ? before : ''
    this.#after = after
  }

  /** Other chunks follow: the next one that is learnt from is not one more that fitted none. */
  forget(): void {
    this.#before = ''
    this.#useless = 0
  }
}

const chunkFields = new Set([
  'id',
  'object',
  'created',
  'model',
  'choices',
  'system_fingerprint',
  'service_tier',
  // OpenAI pads its chunks, so that their length does not reveal the text.
  'obfuscation',
  // OpenRouter names the provider that answers.
  'provider',
])
const choiceFields = new Set(['index', 'delta', 'logprobs'])
const textFields = new Set(['role', 'content'])
const callsFields = new Set(['role', 'content', 'tool_calls'])
const callFields = new Set(['index', 'id', 'type', 'function'])
const functionFields = new Set(['name', 'arguments'])

/**
 * The delta of a chunk that brings nothing beside it, which nearly all chunks of a long answer are. Any other field makes
 * it undefined, so that the full reading decides: only what is known to carry nothing is skipped.
 */
export const plainDelta = (chunk: JsonObject): JsonObject | undefined => {
  if (!hasOnly(chunk, chunkFields) || chunk.object === 'error') return undefined
  const { choices } = chunk
  const choice = Array.isArray(choices) && choices.length === 1 ? choices[0] : undefined
  if (!isJsonObject(choice) || choice.index !== 0 || !hasOnly(choice, choiceFields)) return undefined
  return isJsonObject(choice.delta) ? choice.delta : undefined
}

/** The text of a delta that brings nothing else. */
export const plainText = (delta: JsonObject | undefined): string | undefined =>
  typeof delta?.content === 'string' && hasOnly(delta, textFields) ? delta.content : undefined

/** The piece of a tool call in a delta that brings nothing else. */
export const plainPiece = (delta: JsonObject | undefined): PlainPiece | undefined => {
  const calls = delta?.tool_calls
  if (!delta || delta.content || !Array.isArray(calls) || calls.length !== 1 || !hasOnly(delta, callsFields))
    return undefined
  const [call] = calls
  if (!isJsonObject(call) || typeof call.index !== 'number' || !hasOnly(call, callFields)) return undefined
  const { function: called, index, id } = call
  if (!isJsonObject(called) || typeof called.arguments !== 'string' || !hasOnly(called, functionFields))
    return undefined
  const { name } = called
  return {
    index,
    id: typeof id === 'string' ? id : '',
    name: typeof name === 'string' ? name : '',
    arguments: called.arguments,
  }
}

type PlainPiece = { index: number; id: string; name: string; arguments: string }
