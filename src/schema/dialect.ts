import type { JsonObject, JsonValue } from '../messages/json.ts'

/**
 * The part of JSON Schema that one API takes, as a table. Types, members, lists of values and unions are understood by all;
 * `oneOf` and `allOf` by few, so they are written as `anyOf` and as one schema everywhere. Keywords that an API does not accept
 * go into the description, where the model reads them.
 */
export type Dialect = {
  /** `written out`: the API reads no `$ref`. Recursive types are then written out twice, and only named after that. */
  references: 'kept' | 'written out'
  /** The keywords that are sent, always or with some values only, beside those of the shape and the description. */
  keywords: Readonly<Record<string, true | ((value: JsonValue) => boolean)>>
  /** The types of value that `enum` may list, and whether one value may be written as `const`. */
  values: { types: readonly string[]; const: boolean }
  /** The keyword that lists the items of a tuple; `items` has any of them at every place. */
  tuples: 'prefixItems' | 'items'
  /** True where a list may leave out what it holds. */
  bareArrays: boolean
  /** True where `additionalProperties` is read. */
  additionalProperties: boolean
  /** The names that members may have; others are left to the description. */
  memberName?: RegExp
  /** Objects that list their members are closed unless they say otherwise. */
  closesObjects?: boolean
  /** Closed objects say what they require even if it is nothing. */
  listsRequired?: boolean
  /** Every object must require a member: one that requires none then requires all. */
  requiresOne?: boolean
}

type Takes = Dialect['keywords'][string]

/** The types of plain values. */
export const scalars: readonly string[] = ['string', 'number', 'boolean', 'null']

/** Takes these values only. */
export const oneOf =
  (...values: JsonValue[]): Takes =>
  (value) =>
    values.includes(value)

/**
 * Takes patterns that every engine reads the same way. Without lookaround, back-references, named groups and classes of
 * Unicode: engines that run in linear time have none of them, and others spell them differently.
 */
export const plainPattern: Takes = (value) =>
  typeof value === 'string' && !/\(\?(?!:)|\\(?:[1-9pPkcQ]|u\{)/.test(value.replaceAll('\\\\', ''))

/** Keywords of JSON Schema whose value is one schema. */
export const oneSchema: ReadonlySet<string> = new Set([
  ...['items', 'additionalItems', 'unevaluatedItems', 'contains', 'contentSchema'],
  ...['additionalProperties', 'unevaluatedProperties', 'propertyNames', 'not', 'if', 'then', 'else'],
])

/** Keywords whose value is a list of schemas. */
export const manySchemas: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])

/** Keywords whose value holds schemas under names that the user chose. */
export const namedSchemas: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', 'dependencies'],
])

const numbers = [
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'],
  ...['minContains', 'maxContains'],
]

/** Keywords whose value is a number; anything else means nothing. */
export const numeric: ReadonlySet<string> = new Set(numbers)

/** Keywords that describe a value without refusing any. */
export const annotations: ReadonlySet<string> = new Set(['title', 'description', 'default', 'examples'])

/** Keywords of the shape of a value: every dialect has it, each in its own way. */
const shape = [
  ...['type', 'enum', 'const', 'properties', 'required', 'additionalProperties', 'items', 'prefixItems'],
  ...['anyOf', 'oneOf', 'allOf', '$ref'],
]

/** Keywords that narrow a shape further. */
const constraints = [
  ...['format', 'pattern', ...numbers, 'uniqueItems', 'contentEncoding', 'contentMediaType', 'contentSchema'],
  ...['contains', 'unevaluatedItems', 'patternProperties', 'propertyNames', 'unevaluatedProperties'],
  ...['dependentRequired', 'dependentSchemas', 'dependencies', 'not', 'if', 'then', 'else'],
]

/** Keywords that a model should know: if a dialect does not accept one of these, it goes into the description. */
export const worthSaying: readonly string[] = [...constraints, 'default', 'examples']

/** Every keyword that means something to a reader or a validator; the rest is left out. */
export const meaningful: ReadonlySet<string> = new Set([
  ...shape,
  ...constraints,
  ...annotations,
  // Google's own: the order in which a model writes the members.
  'propertyOrdering',
])

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
