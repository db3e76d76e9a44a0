import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../../src/messages/json.ts'

const kept = ['$ref', 'enum', 'const', 'type', 'title', 'default', 'required'] as const
const silent = new Set(['$schema', '$id', '$comment', 'examples', 'deprecated', 'readOnly', 'writeOnly'])
const formats = new Set(
  'date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' ') as (JsonValue | undefined)[],
)

/**
 * A JSON Schema in the dialect of `output_config.format`; undefined when that dialect cannot say it.
 *
 * The API closes every object, knows no bounds on numbers, texts and lists, no recursion and no values of just any
 * type. Bounds become a remark to the model; the caller's own schema still checks the answer.
 */
export const outputSchema = (schema: JsonObject): JsonObject | undefined => {
  try {
    if (isRecursive(schema, schema, [])) return undefined
    return convert(schema)
  } catch (error) {
    if (error instanceof Inexpressible) return undefined
    throw error
  }
}

/** What the model is told instead where the dialect has no words for the schema. */
export const schemaInstruction = (schema: JsonObject): string =>
  `Answer with nothing but JSON that follows this JSON Schema, without a code fence:\n${JSON.stringify(schema)}`

class Inexpressible extends Error {}

const convert = (schema: JsonValue | undefined): JsonObject => {
  if (!isJsonObject(schema)) throw new Inexpressible()
  const converted: JsonObject = {}
  const remarks: string[] = []
  for (const key of kept) {
    const value = ownValue(schema, key)
    if (value !== undefined) converted[key] = value
  }
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'description' || silent.has(key) || (kept as readonly string[]).includes(key)) continue
    if (saysNothing(schema, key, value)) continue
    if (!convertKeyword(converted, key, value)) remarks.push(`${key}: ${JSON.stringify(value)}`)
  }
  if (isObjectType(converted)) {
    converted.properties ??= {}
    converted.additionalProperties = false
  }
  if (!['type', '$ref', 'enum', 'const', 'anyOf', 'allOf'].some((key) => key in converted)) {
    throw new Inexpressible()
  }
  const description = [ownValue(schema, 'description'), remarks.join(', ')].filter(Boolean).join(' – ')
  return description === '' ? converted : { ...converted, description }
}

/** Generators bound every integer and spell out every format; neither tells the model anything. */
const saysNothing = (schema: JsonObject, key: string, value: JsonValue): boolean =>
  Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER ||
  (key === 'pattern' && formats.has(ownValue(schema, 'format')))

/** Whether the keyword has a place in the dialect; what has none is told to the model as a remark. */
const convertKeyword = (converted: JsonObject, key: string, value: JsonValue): boolean => {
  switch (key) {
    case 'properties':
    case '$defs':
    case 'definitions':
      converted[key] = convertEach(value)
      return true
    case 'items':
      converted.items = convert(value)
      return true
    case 'anyOf':
    case 'oneOf':
      converted.anyOf = Array.isArray(value) ? value.map(convert) : []
      return true
    case 'allOf':
      converted.allOf = Array.isArray(value) ? value.map(convert) : []
      return true
    case 'additionalProperties':
      // A closed object is the only one there is; an open one would lose its entries.
      if (isJsonObject(value)) throw new Inexpressible()
      return true
    case 'format':
      if (formats.has(value)) converted.format = value
      return formats.has(value)
    case 'minItems':
      if (value === 0 || value === 1) converted.minItems = value
      return value === 0 || value === 1
    case 'patternProperties':
    case 'prefixItems':
    case 'not':
    case 'if':
      throw new Inexpressible()
    default:
      return false
  }
}

const convertEach = (value: JsonValue): JsonObject =>
  isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, convert(schema)]))
    : {}

const isObjectType = ({ type }: JsonObject): boolean =>
  type === 'object' || (Array.isArray(type) && type.includes('object'))

/** Follows references from the root: one that comes back to where it is being followed never ends. */
const isRecursive = (node: JsonValue, root: JsonObject, open: readonly string[]): boolean => {
  if (Array.isArray(node)) return node.some((item) => isRecursive(item, root, open))
  if (!isJsonObject(node)) return false
  const reference = ownValue(node, '$ref')
  if (typeof reference === 'string') {
    if (open.includes(reference) || !reference.startsWith('#/')) return true
    return isRecursive(resolve(reference, root), root, [...open, reference])
  }
  return Object.entries(node).some(
    ([key, value]) => key !== '$defs' && key !== 'definitions' && isRecursive(value, root, open),
  )
}

const resolve = (reference: string, root: JsonObject): JsonValue => {
  let node: JsonValue = root
  for (const name of reference.slice(2).split('/')) {
    const key = name.replaceAll('~1', '/').replaceAll('~0', '~')
    node = (isJsonObject(node) ? ownValue(node, key) : undefined) ?? null
  }
  return node
}
