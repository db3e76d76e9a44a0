import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../../src/messages/json.ts'

/** The keywords OpenAI's strict mode takes; any other one is answered with 400. */
const keywords = new Set([
  ...['$schema', '$id', '$ref', '$defs', 'definitions', 'title', 'description'],
  ...['type', 'properties', 'required', 'additionalProperties', 'items', 'anyOf', 'enum', 'const'],
  ...['pattern', 'format', 'multipleOf', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  ...['minItems', 'maxItems'],
])
const formats = new Set([
  ...['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'],
])
const deepest = 10

/**
 * Whether a schema already is what OpenAI's strict mode wants: every object closed and every property required.
 * A schema that is not goes out as it is, without `strict`: rewriting it would change what it means.
 */
export const isStrictSchema = (schema: JsonObject): boolean =>
  schema.type === 'object' && !Object.hasOwn(schema, 'anyOf') && isStrict(schema, 0)

const isStrict = (schema: JsonValue, depth: number): boolean => {
  if (!isJsonObject(schema) || depth > deepest) return false
  if (!Object.keys(schema).every((key) => keywords.has(key))) return false
  const format = ownValue(schema, 'format')
  if (format !== undefined && !(typeof format === 'string' && formats.has(format))) return false
  // A schema without any of these allows everything, which cannot be enforced.
  if (!['type', '$ref', 'anyOf', 'enum', 'const'].some((key) => Object.hasOwn(schema, key))) return false
  return isClosed(schema) && childrenOf(schema).every((child) => isStrict(child, depth + 1))
}

const isClosed = (schema: JsonObject): boolean => {
  const types = [ownValue(schema, 'type')].flat()
  if (types.includes('array') && !Object.hasOwn(schema, 'items')) return false
  if (!types.includes('object') && !Object.hasOwn(schema, 'properties')) return true
  const properties = ownValue(schema, 'properties')
  const required = ownValue(schema, 'required') ?? []
  if (ownValue(schema, 'additionalProperties') !== false || !isJsonObject(properties)) return false
  return Array.isArray(required) && Object.keys(properties).every((name) => required.includes(name))
}

const childrenOf = (schema: JsonObject): JsonValue[] => {
  const nested = ['properties', '$defs', 'definitions'].flatMap((key) => {
    const group = ownValue(schema, key)
    return isJsonObject(group) ? Object.values(group) : []
  })
  const variants = ownValue(schema, 'anyOf')
  const items = ownValue(schema, 'items')
  return [...nested, ...(Array.isArray(variants) ? variants : []), ...(items === undefined ? [] : [items])]
}
