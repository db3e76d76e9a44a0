import { isJsonObject, type JsonObject, type JsonValue, stableJson } from '../../messages/json.ts'

/** An operation of JSON Patch (RFC 6902). */
type Operation = JsonObject & { op: 'add' | 'remove' | 'replace'; path: string }

/**
 * The changes that turn one state into the other, for clients that have the first. Undefined if the whole state is
 * shorter, or if clients could not apply the changes: their libraries refuse paths that lead to a prototype.
 */
export const statePatch = (before: JsonValue, after: JsonValue): Operation[] | undefined => {
  const isWhole = !(isJsonObject(before) && isJsonObject(after)) && !(isList(before) && isList(after))
  if (isWhole) return undefined
  const patch = changes(before, after, '')
  const isRefused = patch.some(({ path }) => /\/(?:__proto__|constructor|prototype)(?:\/|$)/.test(path))
  return isRefused || JSON.stringify(patch).length >= JSON.stringify(after).length ? undefined : patch
}

const isList = (value: JsonValue): value is JsonValue[] => Array.isArray(value)

const changes = (before: JsonValue, after: JsonValue, path: string): Operation[] => {
  if (isList(before) && isList(after)) return changedItems(before, after, path)
  if (isJsonObject(before) && isJsonObject(after)) return changedFields(before, after, path)
  return stableJson(before) === stableJson(after) ? [] : [{ op: 'replace', path, value: after }]
}

const changedFields = (before: JsonObject, after: JsonObject, path: string): Operation[] => {
  const removed = Object.keys(before).filter((key) => !Object.hasOwn(after, key))
  return [
    ...removed.map((key): Operation => ({ op: 'remove', path: pathTo(path, key) })),
    ...Object.entries(after).flatMap(([key, value]): Operation[] => {
      const known = Object.hasOwn(before, key) ? before[key] : undefined
      if (known === undefined) return [{ op: 'add', path: pathTo(path, key), value }]
      return changes(known, value, pathTo(path, key))
    }),
  ]
}

/** Items are compared by their place: a list that grows at its end, as most do, needs one operation for each new one. */
const changedItems = (before: JsonValue[], after: JsonValue[], path: string): Operation[] => {
  const both = Math.min(before.length, after.length)
  return [
    ...after
      .slice(0, both)
      .flatMap((item, index) => changes(before[index] ?? null, item, `${path}/${index}`)),
    ...after.slice(both).map((value): Operation => ({ op: 'add', path: `${path}/-`, value })),
    // From the end, so that the places of the others stay what they are.
    ...before
      .slice(both)
      .map((_, index): Operation => ({ op: 'remove', path: `${path}/${before.length - 1 - index}` })),
  ]
}

const pathTo = (path: string, key: string): string =>
  `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
