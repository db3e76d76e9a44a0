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

/** What describes a value without refusing any. */
export const annotations: ReadonlySet<string> = new Set(['title', 'description', 'default', 'examples'])

/** What makes up the shape of a value: every dialect has it, each in its own way. */
const shape = [
  ...['type', 'enum', 'const', 'properties', 'required', 'additionalProperties', 'items', 'prefixItems'],
  ...['anyOf', 'oneOf', 'allOf', '$ref'],
]

/** What narrows a shape further. */
const constraints = [
  ...['format', 'pattern', ...numbers, 'uniqueItems', 'contentEncoding', 'contentMediaType', 'contentSchema'],
  ...['contains', 'unevaluatedItems', 'patternProperties', 'propertyNames', 'unevaluatedProperties'],
  ...['dependentRequired', 'dependentSchemas', 'dependencies', 'not', 'if', 'then', 'else'],
]

/** What a model should know: if a dialect does not accept one of these, it goes into the description. */
export const worthSaying: readonly string[] = [...constraints, 'default', 'examples']

/** Every keyword that means something to a reader or a validator; the rest is left out. */
export const meaningful: ReadonlySet<string> = new Set([
  ...shape,
  ...constraints,
  ...annotations,
  // Google's own: the order in which a model writes the members.
  'propertyOrdering',
])
