import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import { hasOnly } from '../wire/wireJson.ts'

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
