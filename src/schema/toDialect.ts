import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../messages/json.ts'
import { annotations, type Dialect, saysNothing, withRemarks, worthSaying } from './dialect.ts'
import { members, namedMembers, rootObject } from './objects.ts'
import { readSchema } from './readSchema.ts'
import {
  impossible,
  jsonLength,
  objectsIn,
  ownLength,
  referenceOf,
  type Scope,
  type Settled,
  settle,
  Walk,
} from './scope.ts'

/**
 * A schema in the dialect of an API, as one object at the root: what every API wants of the arguments of a tool and of
 * a typed answer. It may allow more than the schema does, never less, so that a model can send everything that the
 * user's own schema, which checks it, accepts.
 */
export const toDialect = (schema: JsonObject, dialect: Dialect): JsonObject => {
  const known = written.get(schema)?.get(dialect)
  if (known) return known
  const sent = write(schema, dialect)
  const dialects = written.get(schema) ?? new Map<Dialect, JsonObject>()
  written.set(schema, dialects.set(dialect, sent))
  return sent
}

/** The schemas that were written already: the tools of a run go with every request, and never change. */
const written = new WeakMap<JsonObject, Map<Dialect, JsonObject>>()

const write = (schema: JsonObject, dialect: Dialect): JsonObject => {
  const { $defs, ...root } = readSchema(schema)
  const scope: Scope = {
    dialect,
    defs: isJsonObject($defs) ? $defs : {},
    open: [],
    depth: 0,
    walk: new Walk(schema),
  }
  const { type: _, ...sent } = convert(rootObject(root, scope), scope)
  const definitions: [string, JsonObject][] = []
  // A set shows what is added to it while it is gone through.
  for (const name of scope.walk.referred) {
    const definition = ownValue(scope.defs, name)
    definitions.push([name, isJsonObject(definition) ? convert(definition, scope) : {}])
  }
  return {
    type: 'object',
    properties: {},
    ...sent,
    ...(definitions.length > 0 && { $defs: Object.fromEntries(definitions) }),
  }
}

const convert = (schema: JsonObject, scope: Scope): JsonObject => {
  scope.walk.count()
  const name = scope.dialect.references === 'kept' ? keptReference(schema, scope) : undefined
  if (name !== undefined) {
    scope.walk.referred.add(name)
    return { $ref: `#/$defs/${name}` }
  }
  return convertSettled(settle(schema, scope), scope)
}

const convertSettled = (settled: Settled, scope: Scope): JsonObject => {
  const node = nullApart(settled.node, scope.dialect)
  const inner = { ...scope, open: settled.open, depth: scope.depth + 1 }
  return node.anyOf === undefined ? shape(namedMembers(node), inner) : union(node, inner)
}

/** A reference with other keywords is written out, so that `$ref` is always alone; inside itself it stays a reference. */
const keptReference = (schema: JsonObject, scope: Scope): string | undefined => {
  const alone = referenceOf(schema)
  if (alone !== undefined) return alone
  const name = typeof schema.$ref === 'string' ? referenceOf({ $ref: schema.$ref }) : undefined
  if (name === undefined) return undefined
  return scope.open.includes(name) || !scope.walk.mayWriteOut(name, scope) ? name : undefined
}

/** Writes a union. Only annotations are beside `anyOf`: what applies to every branch is written into each. */
const union = ({ anyOf, ...own }: JsonObject, scope: Scope): JsonObject => {
  const entries = Object.entries(own)
  const shared = Object.fromEntries(entries.filter(([key]) => !annotations.has(key)))
  const isShared = Object.keys(shared).length > 0
  const branches = new Map<string, JsonObject>()
  for (const branch of objectsIn(anyOf)) {
    const whole = isShared ? settle({ allOf: [shared, branch] }, scope) : undefined
    if (whole?.node === impossible) continue
    const sent = whole ? convertSettled(whole, scope) : convert(branch, scope)
    for (const each of alternatives(sent)) {
      const json = JSON.stringify(each)
      scope.walk.spend(json.length)
      branches.set(json, each)
    }
  }
  const [only, ...others] = branches.values()
  // No branch is possible: only what applies to all is left.
  if (!only) return shape(own, scope)
  const noted = notes(Object.fromEntries(entries.filter(([key]) => annotations.has(key))), scope.dialect)
  if (others.length === 0) return '$ref' in only ? only : { ...only, ...noted }
  return { ...noted, anyOf: [only, ...others] }
}

/** The branches of a union inside a union are branches of the outer one. */
const alternatives = (sent: JsonObject): JsonObject[] =>
  Object.keys(sent).length === 1 && 'anyOf' in sent ? objectsIn(sent.anyOf) : [sent]

/** A schema without references and unions. */
const shape = (node: JsonObject, scope: Scope): JsonObject => {
  const { dialect, walk } = scope
  walk.spend(ownLength(node))
  const listed = literals(node, dialect)
  const type = node.type ?? listed.type ?? impliedType(node)
  const { remarks: unlisted, ...object } = members(node, scope, convert)
  const bounded = inclusive({ ...node, ...(type !== undefined && { type }) }, dialect)
  const remarks = [...listed.remarks, ...unlisted, ...tuple(node, dialect)]
  for (const [, value] of remarks) walk.spend(jsonLength(value))
  return {
    ...(type !== undefined && { type }),
    ...listed.sent,
    ...object,
    ...elements(node, type, scope),
    ...notes(bounded, dialect, remarks),
  }
}

/** Objects and lists are recognised by what they hold. */
const impliedType = (node: JsonObject): JsonValue | undefined => {
  if (node.properties !== undefined) return 'object'
  return node.items !== undefined || node.prefixItems !== undefined ? 'array' : undefined
}

const takes = ({ keywords }: Dialect, key: string, node: JsonObject): boolean => {
  const rule = Object.hasOwn(keywords, key) ? keywords[key] : undefined
  const value = node[key]
  return rule === true || (rule !== undefined && value !== undefined && rule(value))
}

/** The long pattern of a generated format says nothing that the format does not. */
const isSaid = (key: string, node: JsonObject): boolean =>
  saysNothing(key, node[key] ?? null) || (key === 'pattern' && node.format !== undefined)

/** The keywords that the API takes, and in words those that it does not. */
const notes = (node: JsonObject, dialect: Dialect, remarks: [string, JsonValue][] = []): JsonObject => {
  const entries = Object.entries(node).filter(([key]) => !isSaid(key, node))
  const unsaid = entries.filter(([key]) => worthSaying.includes(key) && !takes(dialect, key, node))
  return {
    ...Object.fromEntries(entries.filter(([key]) => takes(dialect, key, node))),
    ...withRemarks(node.description, [...remarks, ...unsaid]),
  }
}

/** Makes bounds inclusive where an API has no others: exact for integers, the nearest thing for other numbers. */
const inclusive = (node: JsonObject, { keywords }: Dialect): JsonObject => {
  const { exclusiveMinimum: above, exclusiveMaximum: below, ...rest } = node
  if (keywords.exclusiveMinimum || !keywords.minimum) return node
  const step = node.type === 'integer' ? 1 : 0
  const { minimum = -Infinity, maximum = Infinity } = rest
  return {
    ...rest,
    ...(typeof above === 'number' && {
      minimum: Math.max(Number(minimum), step ? Math.floor(above) + step : above),
    }),
    ...(typeof below === 'number' && {
      maximum: Math.min(Number(maximum), step ? Math.ceil(below) - step : below),
    }),
  }
}

/** A list of values that holds null, where null cannot be listed: the other values, or null. */
const nullApart = (node: JsonObject, { values }: Dialect): JsonObject => {
  const { enum: list, ...rest } = node
  if (!Array.isArray(list) || !list.includes(null) || values.types.includes('null')) return node
  const others = list.filter((value) => value !== null)
  if (others.length === 0 || rest.anyOf !== undefined) return node
  return { ...rest, anyOf: [{ enum: others, type: typeOf(kindsOf(others)) }, { type: 'null' }] }
}

type Listed = { type?: JsonValue; sent: JsonObject; remarks: [string, JsonValue][] }

/** `const` and `enum`, as far as the API can list such values; null is its own type. */
const literals = (node: JsonObject, { values }: Dialect): Listed => {
  const only = ownValue(node, 'const')
  const list = only !== undefined ? [only] : Array.isArray(node.enum) ? node.enum : undefined
  if (!list) return { sent: {}, remarks: [] }
  const kinds = kindsOf(list)
  const type = typeOf(kinds)
  // The type null has one value, which need not be listed.
  if (list.every((value) => value === null)) return { type, sent: {}, remarks: [] }
  // A list that would lose a value is not sent at all: it would forbid what is allowed.
  if (!kinds.every((each) => values.types.includes(each)))
    return { type, sent: {}, remarks: [['enum', list]] }
  return { type, sent: only !== undefined && values.const ? { const: only } : { enum: list }, remarks: [] }
}

const kindsOf = (values: JsonValue[]): string[] => [
  ...new Set(
    values.map((value) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)),
  ),
]

const typeOf = (kinds: string[]): JsonValue => (kinds.length === 1 ? (kinds[0] ?? 'null') : kinds)

const elements = (node: JsonObject, type: JsonValue | undefined, scope: Scope): JsonObject => {
  const { dialect } = scope
  const rest = isJsonObject(node.items) ? node.items : undefined
  const places = objectsIn(node.prefixItems)
  if (places.length === 0) {
    if (rest) return { items: convert(rest, scope) }
    return [type].flat().includes('array') && !dialect.bareArrays ? { items: {} } : {}
  }
  if (dialect.tuples === 'prefixItems') {
    const prefixItems = places.map((place) => convert(place, scope))
    return { prefixItems, ...(rest && { items: convert(rest, scope) }) }
  }
  // After the listed places anything may follow, unless the schema says what.
  if (node.items === true || (node.items === undefined && !isFull(node, places.length))) return { items: {} }
  return { items: union({ anyOf: rest ? [...places, rest] : places }, scope) }
}

const isFull = ({ maxItems }: JsonObject, places: number): boolean =>
  typeof maxItems === 'number' && maxItems <= places

const tuple = (node: JsonObject, { tuples }: Dialect): [string, JsonValue][] =>
  tuples === 'items' && node.prefixItems !== undefined ? [['prefixItems', node.prefixItems]] : []
