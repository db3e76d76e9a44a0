import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../../src/messages/json.ts'

/** What strict mode understands besides `format`, `$ref` and the object rules; anything else makes the API refuse. */
const allowedKeywords = new Set([
  '$schema',
  '$defs',
  'definitions',
  'title',
  'description',
  'type',
  'enum',
  'const',
  'anyOf',
  'items',
  'properties',
  'required',
  'additionalProperties',
  'pattern',
  'format',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minItems',
  'maxItems',
])

const allowedFormats = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uuid',
])

/**
 * Whether a schema may be sent with `strict: true` as it is: an object at the root, every object closed and with
 * all its properties required, no keyword beyond the subset. Schemas are never rewritten to make them fit.
 */
export const satisfiesStrict = (schema: JsonObject): boolean =>
  schema.type === 'object' && !Object.hasOwn(schema, 'anyOf') && isStrict(schema)

const isStrict = (schema: JsonValue | undefined): boolean => {
  if (!isJsonObject(schema)) return false
  if (Object.hasOwn(schema, '$ref')) return Object.keys(schema).length === 1
  if (!Object.keys(schema).every((keyword) => allowedKeywords.has(keyword))) return false
  const { type, format, anyOf, items } = schema
  if (type === undefined && anyOf === undefined) return false
  if (format !== undefined && !(typeof format === 'string' && allowedFormats.has(format))) return false
  if (anyOf !== undefined && !(Array.isArray(anyOf) && anyOf.every(isStrict))) return false
  if (hasType(type, 'array') && !isStrict(items)) return false
  if (hasType(type, 'object') && !isClosed(schema)) return false
  return [schema.$defs, schema.definitions].every((defs) => defs === undefined || everyValue(defs, isStrict))
}

const isClosed = (schema: JsonObject): boolean => {
  const { properties, required, additionalProperties } = schema
  if (additionalProperties !== false || !isJsonObject(properties) || !Array.isArray(required)) return false
  return Object.keys(properties).every((key) => required.includes(key)) && everyValue(properties, isStrict)
}

const hasType = (type: JsonValue | undefined, name: string): boolean =>
  type === name || (Array.isArray(type) && type.includes(name))

const everyValue = (object: JsonValue, check: (value: JsonValue | undefined) => boolean): boolean =>
  isJsonObject(object) && Object.keys(object).every((key) => check(ownValue(object, key)))
