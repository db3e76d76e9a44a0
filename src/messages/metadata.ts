import { isJsonObject, type JsonObject, type JsonValue, ownValue } from './json.ts'

const same = (a: JsonValue, b: JsonValue): boolean => a === b || JSON.stringify(a) === JSON.stringify(b)

/**
 * Joins what two moments say under the same key: lists are appended, objects are joined in the same way, thinking is
 * one growing text, and anything else is replaced by the newer value.
 */
export const mergeMetadata = (older: JsonObject, newer: JsonObject): JsonObject => {
  const merged = new Map(Object.entries(older))
  for (const [key, value] of Object.entries(newer)) {
    const known = merged.get(key)
    if (Array.isArray(known) && Array.isArray(value)) merged.set(key, [...known, ...value])
    else if (isJsonObject(known) && isJsonObject(value)) merged.set(key, mergeMetadata(known, value))
    else if (key === 'thinking' && typeof known === 'string' && typeof value === 'string')
      merged.set(key, known + value)
    else merged.set(key, value)
  }
  // From entries, never by assignment: a key such as __proto__ stays plain data.
  return Object.fromEntries(merged)
}

/** What of `incoming` has not been seen yet, so that each item is shown exactly once. */
export const unseenMetadata = (seen: JsonObject, incoming: JsonObject): JsonObject => {
  const unseen: [string, JsonValue][] = []
  for (const [key, value] of Object.entries(incoming)) {
    const known = ownValue(seen, key)
    if (Array.isArray(value) && Array.isArray(known)) {
      const items = value.filter((item) => !known.some((old) => same(old, item)))
      if (items.length > 0) unseen.push([key, items])
    } else if (known === undefined || !same(known, value)) unseen.push([key, value])
  }
  return Object.fromEntries(unseen)
}
