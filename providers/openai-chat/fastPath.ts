import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import { hasOnly, parseWireObject } from '../wire/json.ts'

const field = '"content":'

/**
 * Chunks with text mostly differ in nothing else: everything before and after the text is the same. Then only the text
 * must be read, which costs a third of reading the chunk.
 */
export class TextTemplate {
  #before = ''
  #after = ''
  /** Templates in a row that fitted no chunk: OpenAI pads each with other letters, and then trying does not help. */
  #useless = 0

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
    const at = data.indexOf(field + quoted)
    const before = data.slice(0, at + field.length)
    const after = data.slice(at + field.length + quoted.length)
    // The same words may be elsewhere, too: another text in this place must be the text of the chunk.
    const other = `${text}.`
    const chunk = at === -1 ? undefined : parseWireObject(before + JSON.stringify(other) + after)
    const isPlace = isJsonObject(chunk) && plainDelta(chunk)?.content === other
    this.#before = isPlace ? before : ''
    this.#after = after
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
const deltaFields = new Set(['role', 'content'])

/**
 * The delta of a chunk that brings text and nothing else, which nearly all chunks of a long answer are. Any other field
 * makes it undefined, so that the full reading decides: only what is known to carry nothing is skipped.
 */
export const plainDelta = (chunk: JsonObject): (JsonObject & { content: string }) | undefined => {
  if (!hasOnly(chunk, chunkFields) || chunk.object === 'error') return undefined
  const { choices } = chunk
  const choice = Array.isArray(choices) && choices.length === 1 ? choices[0] : undefined
  if (!isJsonObject(choice) || choice.index !== 0 || !hasOnly(choice, choiceFields)) return undefined
  const { delta } = choice
  return isJsonObject(delta) && isText(delta) && hasOnly(delta, deltaFields) ? delta : undefined
}

const isText = (delta: JsonObject): delta is JsonObject & { content: string } =>
  typeof delta.content === 'string'
