import type { JsonObject, JsonValue } from '../messages/json.ts'

/** A remark is read by a model on every request: a longer one is cut. */
const longestRemark = 500

/** The description with what the API has no keyword for: `Full name (minLength: 1)`. */
export const withRemarks = (
  description: JsonValue | undefined,
  remarks: readonly (readonly [string, JsonValue])[],
): JsonObject => {
  const words = remarks.map(([key, value]) => cut(`${key}: ${inWords(value)}`)).join(', ')
  return withWords(description, words && `(${words})`)
}

export const withWords = (description: JsonValue | undefined, words: string): JsonObject => {
  const text = [description, words].filter(Boolean).join(' ')
  return text === '' ? {} : { description: text }
}

const inWords = (value: JsonValue): string => (typeof value === 'string' ? value : JSON.stringify(value))

const cut = (text: string): string =>
  text.length > longestRemark ? `${text.slice(0, longestRemark)}…` : text

/** Generators bound every integer and say that names are strings, which says nothing. */
export const saysNothing = (key: string, value: JsonValue): boolean =>
  (typeof value === 'number' && Math.abs(value) === Number.MAX_SAFE_INTEGER) ||
  (key === 'propertyNames' && JSON.stringify(value) === '{"type":"string"}')
