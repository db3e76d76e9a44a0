import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../../src/messages/json.ts'

/** Keywords of JSON Schema that Cohere's structured outputs refuse; our own validation still checks them. */
const refused = new Set([
  '$schema',
  '$id',
  'not',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
  'propertyNames',
])
const knownFormats = new Set<JsonValue | undefined>(['date-time', 'uuid', 'date', 'time'])
const schemaMaps = new Set(['properties', '$defs', 'definitions', 'patternProperties'])
const singleSchemas = new Set(['items', 'additionalProperties'])

/**
 * The schema of an answer in the dialect of Cohere's structured outputs: nothing it refuses, and at least one required
 * field in every object. It may let more through than the original, or less, never something of another shape.
 */
export const responseSchema = (schema: JsonObject): JsonObject => {
  const kept = Object.entries(withoutAllOf(schema))
    .filter(([key, value]) => !refused.has(key) && isSupported(key, value))
    .map(([key, value]): [string, JsonValue] => [key === 'oneOf' ? 'anyOf' : key, converted(key, value)])
  return withRequired(Object.fromEntries(kept))
}

/** Cohere knows no `allOf`: its parts are written into the schema itself. */
const withoutAllOf = ({ allOf, ...own }: JsonObject): JsonObject =>
  (Array.isArray(allOf) ? allOf : []).filter((part) => isJsonObject(part)).reduce(merged, own)

const merged = (base: JsonObject, part: JsonObject): JsonObject => {
  const { properties, required, ...rest } = withoutAllOf(part)
  return {
    ...base,
    ...rest,
    ...(isJsonObject(properties) && {
      properties: { ...(isJsonObject(base.properties) && base.properties), ...properties },
    }),
    ...(Array.isArray(required) && {
      required: [...(Array.isArray(base.required) ? base.required : []), ...required],
    }),
  }
}

const isSupported = (key: string, value: JsonValue): boolean => {
  if (key === 'format') return knownFormats.has(value)
  // Anchors and look-ahead make the API reject a pattern.
  if (key === 'pattern') return typeof value === 'string' && !/[\^$]|\?[=!]/.test(value)
  return true
}

const converted = (key: string, value: JsonValue): JsonValue => {
  if (schemaMaps.has(key) && isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, convertedOne(inner)]))
  }
  if (singleSchemas.has(key)) return convertedOne(value)
  if (['anyOf', 'oneOf', 'prefixItems'].includes(key) && Array.isArray(value)) {
    return value.map(convertedOne)
  }
  return value
}

const convertedOne = (schema: JsonValue): JsonValue =>
  isJsonObject(schema) ? responseSchema(schema) : schema

/** An answer with every field is also an answer to a schema that requires none. */
const withRequired = (schema: JsonObject): JsonObject => {
  const properties = ownValue(schema, 'properties')
  const required = ownValue(schema, 'required')
  if (!isJsonObject(properties) || (Array.isArray(required) && required.length > 0)) return schema
  const names = Object.keys(properties)
  return names.length === 0 ? schema : { ...schema, required: names }
}
