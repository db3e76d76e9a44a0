import { grown, type MergedPieces, wholeOf } from './growing.ts'
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from './json.ts'

/** Adds a piece to metadata that comes in piece by piece. */
export const addMetadata = (
  growing: MergedPieces<JsonObject>,
  piece: JsonObject,
): MergedPieces<JsonObject> =>
  Object.keys(piece).length === 0 ? growing : grown(growing, piece, mergeMetadata)

/** All pieces as one. */
export const wholeMetadata = (growing: MergedPieces<JsonObject>): JsonObject =>
  wholeOf(growing, mergeMetadata) ?? {}

/**
 * Joins two pieces of metadata, key by key: lists are appended, objects are joined in the same way, thinking is one
 * growing text, and any other value is replaced by the newer one.
 */
export const mergeMetadata = (older: JsonObject, newer: JsonObject): JsonObject => {
  const merged = new Map(Object.entries(older))
  for (const [key, value] of Object.entries(newer)) {
    const known = merged.get(key)
    if (Array.isArray(known) && Array.isArray(value)) merged.set(key, joinLists(known, value))
    else if (isJsonObject(known) && isJsonObject(value)) merged.set(key, mergeMetadata(known, value))
    else if (key === 'thinking' && typeof known === 'string' && typeof value === 'string')
      merged.set(key, known + value)
    else merged.set(key, value)
  }
  // From entries, never by assignment: a key such as __proto__ stays plain data.
  return Object.fromEntries(merged)
}

/** The part of `incoming` that has not been seen yet, so that each item is shown exactly once. `seen` is in the order it came. */
export const unseenMetadata = (seen: readonly JsonObject[], incoming: JsonObject): JsonObject => {
  const unseen: [string, JsonValue][] = []
  for (const [key, value] of Object.entries(incoming)) {
    const known = seen.map((each) => ownValue(each, key)).filter((each) => each !== undefined)
    const latest = known.at(-1)
    if (Array.isArray(value) && Array.isArray(latest)) {
      const items = unseenItems(known.filter(Array.isArray), value)
      if (items.length > 0) unseen.push([key, items])
    } else if (latest === undefined || !isSame(known, value)) unseen.push([key, value])
  }
  return Object.fromEntries(unseen)
}

const isSame = (known: readonly JsonValue[], value: JsonValue): boolean => {
  const latest = known.at(-1)
  const whole = isJsonObject(latest) ? known.filter(isJsonObject).reduce(mergeMetadata) : latest
  return whole === value || JSON.stringify(whole) === JSON.stringify(value)
}

/**
 * The items of a list, as texts to compare. Computed once and handed on when the list grows: if every item were
 * compared with every other, a server that sends many items could block the process.
 */
const itemsOf = new WeakMap<readonly JsonValue[], Set<string>>()

const knownItems = (list: readonly JsonValue[]): Set<string> => {
  const items = itemsOf.get(list) ?? new Set(list.map((item) => JSON.stringify(item)))
  itemsOf.set(list, items)
  return items
}

const unseenItems = (lists: readonly JsonValue[][], incoming: readonly JsonValue[]): JsonValue[] => {
  const fresh = new Map<JsonValue, string>()
  const known = lists.map(knownItems)
  const items = incoming.filter((item) => {
    const text = JSON.stringify(item)
    return !known.some((texts) => texts.has(text)) && fresh.set(item, text)
  })
  itemsOf.set(items, new Set(fresh.values()))
  return items
}

const joinLists = (older: readonly JsonValue[], newer: readonly JsonValue[]): JsonValue[] => {
  const joined = [...older, ...newer]
  const items = itemsOf.get(older)
  if (!items) return joined
  for (const text of knownItems(newer)) items.add(text)
  itemsOf.delete(older)
  itemsOf.set(joined, items)
  return joined
}
