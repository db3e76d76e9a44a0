/** JSON Schemas as servers of tools send them: of any draft, half right, referring to themselves. */
import fc from 'fast-check'
import type { JsonObject, JsonValue } from '../../src/messages/json.ts'

const type = fc.constantFrom(
  'string',
  'STRING',
  'integer',
  'number',
  'boolean',
  'null',
  'array',
  'object',
  'any',
)
const bound = fc.oneof(fc.integer({ min: -5, max: 5 }), fc.boolean(), fc.constant(null))
const name = fc.constantFrom('a', 'b', 'type', '$ref', '$top', 'größe', '__proto__', 'constructor')
const value = fc.jsonValue({ maxDepth: 1 })
/** The definitions of every document below, so that each of these leads somewhere. */
const reference = fc.constantFrom(
  '#',
  '#/$defs/a',
  '#/$defs/b',
  '#/definitions/c%20d',
  '#here',
  '#/properties/a',
)

const { schema } = fc.letrec<{ schema: JsonValue; node: JsonValue }>((tie) => {
  const inner = tie('schema')
  const many = fc.array(inner, { maxLength: 3 })
  const named = fc.dictionary(name, inner, { maxKeys: 3, noNullPrototype: true })
  const keywords = {
    type: fc.oneof(type, fc.array(type, { maxLength: 3 }), fc.constant(null)),
    nullable: fc.boolean(),
    title: fc.string(),
    description: fc.oneof(fc.string(), fc.constant(null)),
    default: value,
    examples: fc.array(value, { maxLength: 2 }),
    enum: fc.oneof(fc.array(value, { maxLength: 3 }), fc.constant(null)),
    const: value,
    properties: named,
    required: fc.oneof(fc.array(name, { maxLength: 3 }), fc.boolean()),
    additionalProperties: inner,
    propertyNames: inner,
    patternProperties: named,
    dependencies: fc.dictionary(name, fc.oneof(inner, fc.array(name)), { maxKeys: 2, noNullPrototype: true }),
    minProperties: bound,
    items: fc.oneof(inner, many),
    additionalItems: inner,
    prefixItems: many,
    contains: inner,
    minItems: bound,
    maxItems: bound,
    uniqueItems: fc.boolean(),
    minimum: bound,
    exclusiveMinimum: bound,
    maximum: bound,
    exclusiveMaximum: bound,
    multipleOf: bound,
    minLength: bound,
    maxLength: bound,
    format: fc.constantFrom('date', 'email', 'int32', 'made-up'),
    pattern: fc.constantFrom('^a$', '(?=b)', '(?P<x>.)', '['),
    anyOf: many,
    oneOf: many,
    allOf: many,
    not: inner,
    if: inner,
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: inner,
    $ref: reference,
    $comment: fc.string(),
    'x-own': value,
  }
  const some = fc
    .subarray(Object.keys(keywords), { maxLength: 6 })
    .chain((keys) =>
      fc.record(Object.fromEntries(Object.entries(keywords).filter(([key]) => keys.includes(key)))),
    )
  return {
    schema: fc.oneof({ depthSize: 'small' }, fc.constantFrom<JsonValue>(true, false, {}, null), tie('node')),
    node: some.map((node): JsonValue => JSON.parse(JSON.stringify(node))),
  }
})

const object = schema.filter((each): each is JsonObject => each !== null && typeof each === 'object')

export const jsonSchemas: fc.Arbitrary<JsonObject> = fc
  .tuple(object, object, object, object)
  .map(([root, a, b, c]) => ({
    ...root,
    properties: { a, ...(root.properties instanceof Object ? root.properties : {}) },
    $defs: { a, b: { ...b, $anchor: 'here' } },
    definitions: { 'c d': c },
  }))
