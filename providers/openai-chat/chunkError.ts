import type { ErrorData } from '../../src/messages/errors.ts'
import { isJsonObject, type JsonObject, ownValue } from '../../src/messages/json.ts'
import { arrayAt, objectAt, stringAt } from '../wire/wireJson.ts'
import { chatError, chatStreamError } from './error.ts'

/** The error a chunk carries: as its whole, beside its choices, inside one of them, or in Groq's corner. */
export const chunkError = (chunk: JsonObject, event: string | undefined): ErrorData | undefined => {
  if (event === 'error' || stringAt(chunk, 'object') === 'error') return chatStreamError(chunk)
  if (isNamed(chunk) && chatError(chunk)) return chatStreamError(chunk)
  for (const choice of arrayAt(chunk, 'choices') ?? []) {
    const error = isJsonObject(choice) ? objectAt(choice, 'error') : undefined
    if (error) return chatStreamError({ error })
  }
  const stopped = stringAt(objectAt(chunk, 'x_groq'), 'error')
  return stopped ? chatStreamError({ error: stopped }) : undefined
}

/** `{ detail }` or `{ message }` alone: an error if nothing else comes, perhaps only a notice if something does. */
export const possibleError = (chunk: JsonObject): ErrorData | undefined =>
  chatError(chunk) && chatStreamError(chunk)

const isNamed = (chunk: JsonObject): boolean =>
  (ownValue(chunk, 'error') ?? ownValue(chunk, 'errors') ?? null) !== null
