import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../../src/messages/json.ts'
import { arrayAt, objectAt, stringAt } from '../wireJson.ts'

/**
 * A JSON Schema reduced to what Gemini documents for `parametersJsonSchema` and `responseJsonSchema`.
 *
 * The older `parameters` / `responseSchema` fields are closed messages: one unknown keyword rejects the whole request,
 * and unions and null types cannot be said. The JSON Schema fields take both on every live model. Still, references are
 * written out here, because Gemini refuses keywords beside `$ref` and loops of required fields, and what it does not
 * document is translated or told in the description rather than sent.
 */
export const geminiSchema = (schema: JsonObject): JsonObject =>
  convert(schema, { root: schema, open: [], expansions: { left: maxExpansions } })

/** The same for a tool's arguments, which must be one object: a union of objects becomes one with all their members. */
export const geminiParameters = (schema: JsonObject): JsonObject => {
  const { anyOf, ...converted } = geminiSchema(schema)
  const branches = Array.isArray(anyOf) ? anyOf.filter(isJsonObject) : []
  return { ...(branches.length > 0 && oneObject(branches)), ...converted, type: 'object' }
}

const oneObject = (branches: JsonObject[]): JsonObject => {
  const variants = new Map<string, Map<string, JsonValue>>()
  for (const branch of branches) {
    for (const [name, property] of Object.entries(objectAt(branch, 'properties') ?? {})) {
      const known = variants.get(name) ?? new Map<string, JsonValue>()
      variants.set(name, known.set(JSON.stringify(property), property))
    }
  }
  const properties = [...variants].map(([name, known]): [string, JsonValue] => {
    const [first = {}, ...others] = known.values()
    return [name, others.length === 0 ? first : { anyOf: [first, ...others] }]
  })
  const required = [...variants.keys()].filter((name) =>
    branches.every((branch) => arrayAt(branch, 'required')?.includes(name)),
  )
  return { properties: Object.fromEntries(properties), ...(required.length > 0 && { required }) }
}

type Scope = { root: JsonObject; open: readonly string[]; expansions: { left: number } }

/** Recursive types are written out this often, then only named; and no schema may grow without end. */
const maxRecursion = 2
const maxExpansions = 500

const copied = [
  'type',
  'title',
  'description',
  'default',
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'propertyOrdering',
]
const formats = new Set(['date-time', 'date', 'time', 'int32', 'int64', 'float', 'double'])

const convert = (node: JsonValue | undefined, scope: Scope): JsonObject => {
  if (!isJsonObject(node)) return {}
  const ref = stringAt(node, '$ref')
  if (ref !== undefined) return expand(ref, node, scope)
  const all = arrayAt(node, 'allOf')
  if (all) {
    const { allOf: _, ...rest } = node
    return [...all.map((part) => convert(part, scope)), convert(rest, scope)].reduce(merge)
  }
  const own = withUnsaid(
    { ...pick(node), ...bounds(node), ...values(node), ...members(node, scope), ...elements(node, scope) },
    node,
  )
  const branches = [...(arrayAt(node, 'anyOf') ?? []), ...(arrayAt(node, 'oneOf') ?? [])]
  if (branches.length === 0) return own
  const converted = branches.map((branch) => convert(branch, scope))
  return unite(own, converted)
}

const expand = (ref: string, node: JsonObject, scope: Scope): JsonObject => {
  const { $ref: _, ...beside } = node
  const target = resolve(ref, scope.root)
  const depth = scope.open.filter((open) => open === ref).length
  const stop = depth >= maxRecursion || scope.expansions.left === 0
  if (stop) {
    const { type, title, description } = isJsonObject(target) ? target : {}
    const named = { ...(typeof type === 'string' && { type }), ...(title && { title }) }
    return merge({ ...named, ...(description && { description }) }, pick(beside))
  }
  scope.expansions.left -= 1
  return merge(convert(target, { ...scope, open: [...scope.open, ref] }), convert(beside, scope))
}

/** Follows a reference inside the same document (`#/$defs/Node`); anything else is unknown. */
const resolve = (ref: string, root: JsonObject): JsonValue | undefined => {
  if (ref === '#') return root
  if (!ref.startsWith('#/')) return undefined
  let value: JsonValue | undefined = root
  for (const step of ref.slice(2).split('/')) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(value)) value = value[Number(key)]
    else value = isJsonObject(value) ? ownValue(value, key) : undefined
  }
  return value
}

const pick = (node: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(node).filter(([key]) => copied.includes(key)))

/** Exclusive bounds become inclusive ones: exact for integers, the nearest thing for other numbers. */
const bounds = (node: JsonObject): JsonObject => {
  const step = node.type === 'integer' ? 1 : 0
  const above = node.exclusiveMinimum
  const below = node.exclusiveMaximum
  return {
    ...(typeof above === 'number' && { minimum: step ? Math.floor(above) + step : above }),
    ...(typeof below === 'number' && { maximum: step ? Math.ceil(below) - step : below }),
  }
}

/** `const` and `enum`: Gemini knows lists of strings and numbers; null is a type, booleans are free. */
const values = (node: JsonObject): JsonObject => {
  const fixed = ownValue(node, 'const')
  const list = fixed !== undefined ? [fixed] : arrayAt(node, 'enum')
  if (!list) return {}
  const types = [...new Set(list.map((value) => (value === null ? 'null' : typeof value)))]
  const listed = list.filter((value) => value !== null)
  // A list that would lose a boolean or an object is not sent at all: it would forbid what is allowed.
  const sayable = listed.length > 0 && types.every((type) => ['string', 'number', 'null'].includes(type))
  return {
    type: ownValue(node, 'type') ?? (types.length === 1 ? (types[0] ?? 'string') : types),
    ...(sayable && { enum: listed }),
  }
}

const members = (node: JsonObject, scope: Scope): JsonObject => {
  const properties = objectAt(node, 'properties')
  const required = arrayAt(node, 'required')
  const extra = ownValue(node, 'additionalProperties')
  return {
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, property]) => [name, convert(property, scope)]),
      ),
    }),
    ...(required && {
      required: required.filter(
        (name) => typeof name === 'string' && (!properties || Object.hasOwn(properties, name)),
      ),
    }),
    ...(typeof extra === 'boolean' && { additionalProperties: extra }),
    ...(isJsonObject(extra) && { additionalProperties: convert(extra, scope) }),
  }
}

const elements = (node: JsonObject, scope: Scope): JsonObject => {
  const items = objectAt(node, 'items')
  // Older drafts list the items of a tuple under `items`.
  const tuple = arrayAt(node, 'items') ?? arrayAt(node, 'prefixItems')
  return {
    ...(items && { items: convert(items, scope) }),
    ...(tuple && { prefixItems: tuple.map((item) => convert(item, scope)) }),
  }
}

/** Formats and patterns Gemini would ignore or refuse are told in words. */
const withUnsaid = (schema: JsonObject, node: JsonObject): JsonObject => {
  const format = stringAt(node, 'format')
  if (format !== undefined && formats.has(format)) return { ...schema, format }
  const pattern = stringAt(node, 'pattern')
  // A named format already says what its long pattern would.
  const note = format !== undefined ? `(format: ${format})` : pattern !== undefined && `(pattern: ${pattern})`
  if (!note) return schema
  return { ...schema, description: [stringAt(schema, 'description'), note].filter(Boolean).join(' ') }
}

const annotations = new Set(['title', 'description', 'default'])

/** Beside `anyOf` Gemini takes annotations only: what holds for every branch is written into each. */
const unite = (own: JsonObject, branches: JsonObject[]): JsonObject => {
  const entries = Object.entries(own)
  const shared = Object.fromEntries(entries.filter(([key]) => !annotations.has(key)))
  const notes = Object.fromEntries(entries.filter(([key]) => annotations.has(key)))
  const merged = branches.map((branch) => merge(shared, branch))
  const [only] = merged
  return merged.length === 1 && only ? merge(only, notes) : { ...notes, anyOf: merged }
}

/** Both schemas at once: members and required names are united, anything else is the second one's. */
const merge = (first: JsonObject, second: JsonObject): JsonObject => {
  const [one, other] = [objectAt(first, 'properties'), objectAt(second, 'properties')]
  const required = [...(arrayAt(first, 'required') ?? []), ...(arrayAt(second, 'required') ?? [])]
  return {
    ...first,
    ...second,
    ...((one || other) && { properties: { ...one, ...other } }),
    ...(required.length > 0 && { required: [...new Set(required)] }),
  }
}
