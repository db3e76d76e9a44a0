import type { JsonValue } from '../messages/json.ts'

/** Whether an API takes a keyword: always, or with some values only. */
export type Takes = true | ((value: JsonValue) => boolean)

/**
 * What one API takes of JSON Schema, as a table. Types, members, lists of values and unions are understood by all;
 * `oneOf` and `allOf` by few, so they are written as `anyOf` and as one schema everywhere. What an API does not accept
 * goes into the description, where the model reads it.
 */
export type Dialect = {
  /** `written out`: the API reads no `$ref`. Recursive types are then written out twice, and only named after that. */
  references: 'kept' | 'written out'
  /** The keywords that are sent, beside those of the shape and the description. */
  keywords: Readonly<Record<string, Takes>>
  /** The types of value that `enum` may list, and whether one value may be written as `const`. */
  values: { types: readonly string[]; const: boolean }
  /** Where the items of a tuple are listed; `items` has any of them at every place. */
  tuples: 'prefixItems' | 'items'
  /** Whether a list may leave out what it holds. */
  bareArrays: boolean
  /** Whether `additionalProperties` is read. */
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
