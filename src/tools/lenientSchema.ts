import { isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'

const types = new Set(['null', 'boolean', 'integer', 'number', 'string', 'array', 'object'])

/** Keywords whose value is data, not schema: they are left as they are. */
const dataKeywords = new Set([
  'const',
  'default',
  'enum',
  'example',
  'examples',
  'required',
  'title',
  'description',
])

/** Keywords whose value holds schemas under names that are the user's own. */
const schemaMaps = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

/**
 * A JSON Schema as a validator can take it. Schemas for models come from many makers: types in capitals, `nullable`,
 * keywords that are null, patterns of other languages. What has no meaning in JSON Schema is left out, so that it
 * constrains nothing instead of refusing everything.
 */
export const lenientSchema = (schema: JsonObject): JsonObject => {
  const known = Object.entries(schema).flatMap(([key, value]): [string, JsonValue][] => {
    if (value === null && key !== 'const' && key !== 'default') return []
    if (key === 'nullable') return []
    if (key === 'type') return typeEntry(value, schema.nullable === true)
    if (key === 'pattern') return isPattern(value) ? [[key, value]] : []
    if (dataKeywords.has(key)) return [[key, value]]
    return [[key, schemaMaps.has(key) && isJsonObject(value) ? lenientMap(value) : lenientValue(value)]]
  })
  return Object.fromEntries(known)
}

const lenientMap = (schemas: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(schemas).flatMap(([name, schema]) =>
      schema === null ? [] : [[name, lenientValue(schema)]],
    ),
  )

const lenientValue = (value: JsonValue): JsonValue => {
  if (Array.isArray(value)) return value.map(lenientValue)
  return isJsonObject(value) ? lenientSchema(value) : value
}

const typeEntry = (value: JsonValue, isNullable: boolean): [string, JsonValue][] => {
  const names = (Array.isArray(value) ? value : [value])
    .map((name) => String(name).toLowerCase())
    .filter((name) => types.has(name))
  if (names.length === 0) return []
  const all = isNullable ? [...new Set([...names, 'null'])] : names
  return [['type', all.length === 1 ? (all[0] ?? null) : all]]
}

const isPattern = (value: JsonValue): boolean => {
  try {
    new RegExp(String(value), 'u')
    return true
  } catch {
    return false
  }
}
