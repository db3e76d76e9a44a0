import { isJsonObject, type JsonObject } from '../../src/json.ts'

const chunkFields = new Set([
  'id',
  'object',
  'created',
  'model',
  'system_fingerprint',
  'service_tier',
  'choices',
])
const choiceFields = new Set(['index', 'delta', 'logprobs'])
const deltaFields = new Set(['role', 'content'])

/**
 * The delta of a chunk that brings text and nothing else, which nearly all chunks of a long answer are. Whatever is
 * not known to be silent makes it undefined, so that the full reading decides: skipping that one is safe.
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

/** Goes through the fields that are there, instead of asking for the many that some server might send. */
const hasOnly = (object: JsonObject, known: ReadonlySet<string>): boolean => {
  for (const key in object) if (!known.has(key) && object[key] !== null) return false
  return true
}
