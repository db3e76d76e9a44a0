import { isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'
import { numeric } from './keywords.ts'

/** Two unions at once are all pairs of their branches; more pairs than this, and the second is left to validation. */
const mostPairs = 64

/**
 * Both schemas at once, as one; undefined where no value can be of both. It may allow more than the two, never less:
 * the schema that the user wrote still checks every value.
 */
export const intersect = (first: JsonObject, second: JsonObject): JsonObject | undefined => {
  const joined: JsonObject = { ...first, ...second }
  for (const [key, one] of Object.entries(first)) {
    const other = second[key]
    if (other === undefined || one === other) continue
    const both = rules[key] ?? (numeric.has(key) ? tighterBound : undefined)
    const value = both?.(one, other, key)
    if (value === nothing) return undefined
    if (value !== undefined) joined[key] = value
  }
  if (first.properties !== undefined || second.properties !== undefined) closeTogether(joined, first, second)
  return joined
}

const nothing = Symbol('no value is of both')

type Rule = (one: JsonValue, other: JsonValue, key: string) => JsonValue | undefined | typeof nothing

const tighterBound: Rule = (one, other, key) =>
  (/^(min|exclusiveMin)/.test(key) ? Math.max : Math.min)(Number(one), Number(other))

/** What there is a rule for; of anything else the second one's holds. */
const rules: Record<string, Rule> = {
  type: (one, other) => {
    const known = [other].flat()
    const types = [one].flat().flatMap((type) => {
      if (known.includes(type)) return [type]
      if (type === 'number' && known.includes('integer')) return ['integer']
      return type === 'integer' && known.includes('number') ? [type] : []
    })
    if (types.length === 0) return nothing
    return types.length === 1 ? types[0] : types
  },
  enum: (one, other) => {
    const known = new Set([other].flat().map((value) => JSON.stringify(value)))
    const values = [one].flat().filter((value) => known.has(JSON.stringify(value)))
    return values.length === 0 ? nothing : values
  },
  const: (one, other) => (JSON.stringify(one) === JSON.stringify(other) ? other : nothing),
  required: (one, other) => [...new Set([one, other].flat())],
  properties: (one, other) => {
    if (!isJsonObject(one) || !isJsonObject(other)) return other
    const shared = Object.keys(one).filter((name) => Object.hasOwn(other, name))
    return { ...one, ...other, ...Object.fromEntries(shared.map((name) => [name, bothOf(one, other, name)])) }
  },
  items: (one, other) => (isJsonObject(one) && isJsonObject(other) ? { allOf: [one, other] } : undefined),
  anyOf: (one, other) => {
    const [ones, others] = [[one].flat(), [other].flat()]
    if (ones.length * others.length > mostPairs) return one
    return ones.flatMap((left) => others.map((right) => ({ allOf: [left, right] })))
  },
}

const bothOf = (one: JsonObject, other: JsonObject, name: string): JsonValue => {
  const [left = {}, right = {}] = [one[name], other[name]]
  return JSON.stringify(left) === JSON.stringify(right) ? right : { allOf: [left, right] }
}

/**
 * Taken literally, a closed object refuses the members of the other one. What makers of schemas mean is one object with
 * the members of both.
 */
const closeTogether = (joined: JsonObject, first: JsonObject, second: JsonObject): void => {
  const extras = [first.additionalProperties, second.additionalProperties]
  const open = extras.find((extra) => extra !== undefined && extra !== false)
  if (open !== undefined) joined.additionalProperties = open
}
