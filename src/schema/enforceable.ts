import { isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'
import { objectsIn } from './scope.ts'

/** The limits up to which an API can force a model to follow a schema, token by token. */
export type Enforcement = {
  /** Members that may be missing, in the whole schema. */
  optional: number
  /** Places of more than one type, in the whole schema. */
  unions: number
  /** Levels of schemas in schemas. */
  depth: number
  members: number
  /** Values in all lists of values. */
  values: number
  /** Characters of all names and listed values. */
  characters: number
  /** True where a type may contain itself. */
  recursion: boolean
}

/**
 * True where an API can hold a model to a schema that is in its dialect already. Everything has a type and every object is
 * closed; the rest are limits. A schema that does not fit is sent without force: rewriting it would change its meaning.
 */
export const isEnforceable = (schema: JsonObject, limits: Enforcement): boolean => {
  const { $defs, ...root } = schema
  const definitions = isJsonObject($defs) ? $defs : {}
  const counted = { optional: 0, unions: 0, members: 0, values: 0, characters: 0 }
  const fits = [root, ...Object.values(definitions)].every((each) => isClosed(each, 0, limits.depth, counted))
  return (
    fits &&
    (limits.recursion || !isRecursive(definitions)) &&
    counted.optional <= limits.optional &&
    counted.unions <= limits.unions &&
    counted.members <= limits.members &&
    counted.values <= limits.values &&
    counted.characters <= limits.characters
  )
}

type Counted = Record<'optional' | 'unions' | 'members' | 'values' | 'characters', number>

const isClosed = (schema: JsonValue, depth: number, deepest: number, counted: Counted): boolean => {
  if (!isJsonObject(schema) || depth > deepest) return false
  const { type, anyOf, items, properties } = schema
  const types = type === undefined ? [] : [type].flat()
  const values = Array.isArray(schema.enum) ? schema.enum : schema.const === undefined ? [] : [schema.const]
  // A schema without any of these allows everything, which cannot be enforced.
  if (types.length + values.length === 0 && anyOf === undefined && schema.$ref === undefined) return false
  if (types.includes('array') && !isJsonObject(items)) return false
  if (types.includes('object') && (schema.additionalProperties !== false || !isJsonObject(properties))) {
    return false
  }
  if (schema.prefixItems !== undefined) return false
  const members = isJsonObject(properties) ? Object.entries(properties) : []
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  counted.unions += types.length > 1 || anyOf !== undefined ? 1 : 0
  counted.members += members.length
  counted.optional += members.filter(([name]) => !required.has(name)).length
  counted.values += values.length
  for (const text of [...members.map(([name]) => name), ...values]) {
    counted.characters += typeof text === 'string' ? text.length : 0
  }
  const inside = [...members.map(([, member]) => member), ...objectsIn(anyOf), ...objectsIn([items ?? null])]
  return inside.every((each) => isClosed(each, depth + 1, deepest, counted))
}

/** True where a definition can be reached from itself: taking away what nothing refers to does not take all. */
const isRecursive = (definitions: JsonObject): boolean => {
  const references = new Map(Object.entries(definitions).map(([name, each]) => [name, referencesOf(each)]))
  const referrers = new Map([...references.keys()].map((name) => [name, 0]))
  const change = (name: string, by: number): number => {
    const count = (referrers.get(name) ?? 0) + by
    referrers.set(name, count)
    return count
  }
  for (const name of [...references.values()].flat()) change(name, 1)
  const free = [...references.keys()].filter((name) => referrers.get(name) === 0)
  // The list grows while it is gone through.
  for (const name of free) {
    for (const other of references.get(name) ?? []) if (change(other, -1) === 0) free.push(other)
  }
  return free.length < references.size
}

const referencesOf = (schema: JsonValue): string[] => {
  if (Array.isArray(schema)) return schema.flatMap(referencesOf)
  if (!isJsonObject(schema)) return []
  return Object.entries(schema).flatMap(([key, value]) =>
    key === '$ref' && typeof value === 'string' ? [value.slice('#/$defs/'.length)] : referencesOf(value),
  )
}
