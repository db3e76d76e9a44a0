import { ConfigurationError } from '../messages/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../messages/json.ts'
import { type Dialect, numeric } from './dialect.ts'

/** The place of the walker in a schema. */
export type Scope = {
  readonly dialect: Dialect
  readonly defs: JsonObject
  /** The definitions that are being written out around this place. */
  readonly open: readonly string[]
  readonly depth: number
  readonly walk: Walk
}

/** The state of one walk through a schema. */
export class Walk {
  /** The definitions that are referred to, in the order in which they were found. */
  readonly referred = new Set<string>()
  readonly #budget: number
  #schemas = 0
  #writtenOut = 0
  #characters = 0

  /** Allows more to a larger schema, and enough to a small one that is made of unions and definitions. */
  constructor(schema: JsonObject) {
    this.#budget = leastCharacters + charactersPerCharacter * jsonLength(schema)
  }

  /** Counts characters that are joined or written: a few schemas can hold megabytes between them. */
  spend(characters: number): void {
    this.#characters += characters
    if (this.#characters > this.#budget) {
      throw new ConfigurationError(
        `A schema grows to more than ${this.#budget} characters when it is written for this provider: split it up, or use fewer unions.`,
      )
    }
  }

  /** Unions and definitions are written out, which can make a lot of little. */
  count(): void {
    this.#schemas += 1
    if (this.#schemas > mostSchemas) {
      throw new ConfigurationError(
        `A schema grows to more than ${mostSchemas} schemas when it is written for this provider: split it up, or use fewer unions.`,
      )
    }
  }

  /** True where a definition may be written out once more at this place. */
  mayWriteOut(name: string, { open, depth }: Scope): boolean {
    const rounds = open.filter((other) => other === name).length
    return (
      rounds < mostRounds &&
      open.length < mostNested &&
      depth < deepestWrittenOut &&
      this.#writtenOut < mostWrittenOut &&
      this.#characters < this.#budget / 2
    )
  }

  writeOut(): void {
    this.#writtenOut += 1
  }
}

const mostSchemas = 40_000
const leastCharacters = 1_000_000
const charactersPerCharacter = 8
/** Recursive types are written out this often, then only named; and no schema may grow without end. */
const mostRounds = 2
const mostNested = 32
const deepestWrittenOut = 64
const mostWrittenOut = 500

/** The lengths of values that go into many schemas by reference, such as a list of values that all branches have. */
const lengths = new WeakMap<object, number>()

export const jsonLength = (value: JsonValue): number => {
  if (typeof value === 'string') return value.length
  if (value === null || typeof value !== 'object') return 8
  const length = lengths.get(value) ?? JSON.stringify(value).length
  lengths.set(value, length)
  return length
}

/** Keywords whose schemas are converted one by one, and counted there. */
const converted: ReadonlySet<string> = new Set([
  ...['properties', 'items', 'prefixItems', 'additionalProperties', 'anyOf', 'oneOf', 'allOf'],
])

/** The characters of a schema without those of the schemas in it. */
export const ownLength = (node: JsonObject): number => {
  let length = 0
  for (const [key, value] of Object.entries(node)) {
    length += key.length
    if (!converted.has(key)) length += jsonLength(value)
    else if (Array.isArray(value)) length += value.length
    else if (key === 'properties' && isJsonObject(value))
      for (const name of Object.keys(value)) length += name.length + 4
  }
  return length
}

/** The schema of no value: always the same object, so that it can be recognised. */
export const impossible: JsonObject = { not: {} }

/** The name of the definition, where a schema is a reference and nothing else. */
export const referenceOf = (schema: JsonObject): string | undefined => {
  const keys = Object.keys(schema)
  const only = keys.length === 1 ? schema[keys[0] ?? ''] : undefined
  if (keys[0] === '$ref' && typeof only === 'string') return definitionName(only)
  const [part] = keys[0] === 'allOf' && Array.isArray(only) && only.length === 1 ? only : []
  return isJsonObject(part) ? referenceOf(part) : undefined
}

const definitionName = (reference: string): string => reference.slice('#/$defs/'.length)

export type Settled = { node: JsonObject; open: readonly string[] }

/**
 * A schema with its `allOf`, and a reference that has company, written into it; its unions are under `anyOf`. A
 * definition that is open around here for the second time is left out: the result allows more, never less.
 */
export const settle = (schema: JsonObject, scope: Scope): Settled => {
  const { $ref, allOf, anyOf, oneOf, ...own } = schema
  const parts = [
    ...(typeof $ref === 'string' ? [{ $ref }] : []),
    ...objectsIn(allOf),
    ...choice(objectsIn(anyOf)),
    ...choice(objectsIn(oneOf)),
  ]
  let { open } = scope
  let node: JsonObject = {}
  for (const part of parts) {
    const settled = isReference(part) ? follow(part.$ref, { ...scope, open }) : settlePart(part, scope, open)
    const both = intersect(node, settled.node, scope.walk)
    if (!both) return { node: impossible, open }
    node = both
    open = settled.open
  }
  return { node: intersect(node, own, scope.walk) ?? impossible, open }
}

/** A union of one is that one. */
const choice = (branches: JsonObject[]): JsonObject[] =>
  branches.length > 1 ? [{ anyOf: branches }] : branches

const isReference = (part: JsonObject): part is { $ref: string } =>
  typeof part.$ref === 'string' && Object.keys(part).length === 1

const settlePart = (part: JsonObject, scope: Scope, open: readonly string[]): Settled =>
  objectsIn(part.anyOf).length > 1 && Object.keys(part).length === 1
    ? { node: part, open }
    : settle(part, { ...scope, open })

const follow = (reference: string, scope: Scope): Settled => {
  const name = definitionName(reference)
  const target = ownValue(scope.defs, name)
  if (!isJsonObject(target)) return { node: {}, open: scope.open }
  if (!scope.walk.mayWriteOut(name, scope)) return { node: nameOnly(target), open: scope.open }
  scope.walk.writeOut()
  return settle(target, { ...scope, open: [...scope.open, name] })
}

/** The description of a type that is not written out again. */
const nameOnly = ({ type, title, description }: JsonObject): JsonObject => ({
  ...(type !== undefined && { type }),
  ...(title !== undefined && { title }),
  ...(description !== undefined && { description }),
})

export const objectsIn = (value: JsonValue | undefined): JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : []

/** The most pairs of branches that two unions are written out to; beyond it, the second is left to validation. */
const mostPairs = 64

/**
 * Both schemas as one; undefined where no value can be of both. It may allow more than the two, never less:
 * the schema that the user wrote still checks every value.
 */
const intersect = (first: JsonObject, second: JsonObject, walk: Walk): JsonObject | undefined => {
  walk.spend(ownLength(first) + ownLength(second))
  const joined: JsonObject = { ...first, ...second }
  for (const [key, one] of Object.entries(first)) {
    const other = second[key]
    if (other === undefined || one === other) continue
    const both = rules[key] ?? (numeric.has(key) ? tighterBound : undefined)
    const value = both?.(one, other, key, walk)
    if (value === nothing) return undefined
    if (value !== undefined) joined[key] = value
  }
  if (first.properties !== undefined || second.properties !== undefined) closeTogether(joined, first, second)
  return joined
}

const nothing = Symbol('no value is of both')

type Rule = (
  one: JsonValue,
  other: JsonValue,
  key: string,
  walk: Walk,
) => JsonValue | undefined | typeof nothing

const tighterBound: Rule = (one, other, key) =>
  (/^(min|exclusiveMin)/.test(key) ? Math.max : Math.min)(Number(one), Number(other))

/** The keywords with a rule; for all others the second schema's value holds. */
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
  properties: (one, other, _, walk) => {
    if (!isJsonObject(one) || !isJsonObject(other)) return other
    const shared = Object.keys(one).filter((name) => Object.hasOwn(other, name))
    return {
      ...one,
      ...other,
      ...Object.fromEntries(shared.map((name) => [name, bothOf(one, other, name, walk)])),
    }
  },
  items: (one, other) => (isJsonObject(one) && isJsonObject(other) ? { allOf: [one, other] } : undefined),
  anyOf: (one, other) => {
    const [ones, others] = [[one].flat(), [other].flat()]
    if (ones.length * others.length > mostPairs) return one
    return ones.flatMap((left) => others.map((right) => ({ allOf: [left, right] })))
  },
}

const bothOf = (one: JsonObject, other: JsonObject, name: string, walk: Walk): JsonValue => {
  const [left = {}, right = {}] = [one[name], other[name]]
  walk.spend(jsonLength(left) + jsonLength(right))
  return JSON.stringify(left) === JSON.stringify(right) ? right : { allOf: [left, right] }
}

/**
 * Opens an object that one of the two leaves open. Literally, a closed object refuses the members of the other one; the
 * makers of schemas mean one object with the members of both.
 */
const closeTogether = (joined: JsonObject, first: JsonObject, second: JsonObject): void => {
  const extras = [first.additionalProperties, second.additionalProperties]
  const open = extras.find((extra) => extra !== undefined && extra !== false)
  if (open !== undefined) joined.additionalProperties = open
}
