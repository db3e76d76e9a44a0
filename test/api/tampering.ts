import type { JsonObject, JsonValue } from '../../src/messages/json.ts'

// Every way to change one field of a stored run.

type Path = readonly (string | number)[]

/** What is changed, and the changed copy. */
export type Tampered = { what: string; copy: () => JsonObject }

const pathsOf = (value: JsonValue, path: Path = []): Path[] => {
  const inner = Array.isArray(value)
    ? value.flatMap((each, index) => pathsOf(each, [...path, index]))
    : typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([key, each]) => pathsOf(each, [...path, key]))
      : []
  return path.length === 0 ? inner : [path, ...inner]
}

const at = (root: JsonValue, path: Path): JsonValue | undefined =>
  path.reduce<JsonValue | undefined>((value, key) => (value as never)?.[key], root)

/** What a value may become; ids are swapped, and become those of nothing. */
const changesOf = (value: JsonValue | undefined): JsonValue[] => {
  const nothing: JsonValue[] = [null, [], {}, '', 0, true, [null], { zzz: null }]
  if (typeof value === 'number') return [...nothing, -1, 1e300, value + 1, String(value)]
  if (typeof value === 'boolean') return [...nothing, !value]
  if (typeof value === 'string')
    return [...nothing, 'zzz', 'a', 'b', 'x', 'active', 'done', 'AwaitingApproval', 7]
  if (Array.isArray(value)) {
    const [first] = value
    const doubled = first === undefined ? [] : [[...value, first], value.slice(1), value.slice(0, -1)]
    return [...nothing, ...doubled, ['a'], ['b'], ['zzz'], [...value].reverse()]
  }
  return [...nothing, [value ?? null], 'zzz', ...(value ? [{ ...value, a: { n: 666 } }] : [])]
}

const changed = (
  root: JsonObject,
  path: Path,
  change: (parent: never, key: string | number) => void,
): JsonObject => {
  const copy: JsonObject = structuredClone(root)
  const key = path.at(-1)
  if (key !== undefined) change(at(copy, path.slice(0, -1)) as never, key)
  return copy
}

/** All of them; each differs from the original. */
export const tampered = function* (snapshot: JsonObject): Generator<Tampered> {
  for (const path of pathsOf(snapshot)) {
    const where = path.join('.')
    const value = at(snapshot, path)
    yield { what: `${where} deleted`, copy: () => changed(snapshot, path, deleteKey) }
    for (const change of changesOf(value)) {
      if (JSON.stringify(value) === JSON.stringify(change)) continue
      const set = (parent: Record<string | number, JsonValue>, key: string | number) => {
        parent[key] = structuredClone(change)
      }
      yield { what: `${where} = ${JSON.stringify(change)}`, copy: () => changed(snapshot, path, set) }
    }
  }
}

const deleteKey = (parent: Record<string | number, JsonValue> | JsonValue[], key: string | number): void => {
  if (Array.isArray(parent)) parent.splice(Number(key), 1)
  else delete parent[key]
}
