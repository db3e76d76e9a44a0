import { ConfigurationError } from '../messages/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../messages/json.ts'
import { deepestJson, tooDeep } from '../messages/jsonDepth.ts'
import { manySchemas, meaningful, namedSchemas, numeric, oneSchema } from './dialect.ts'

/** The most schemas in a schema: more than people write, and more than any API accepts. */
const mostSchemas = 20_000

/**
 * A JSON Schema as its maker meant it, in one form: draft 2020-12, with what is referred to under the `$defs` of the
 * root and nowhere else.
 *
 * Schemas for models come from many makers: types in capitals, `nullable`, keywords that are null, words of older
 * drafts, patterns of other languages. What has no meaning in JSON Schema is left out, so that it constrains nothing
 * instead of refusing everything. A reference that leads nowhere is an error, because it cannot be checked.
 */
export const readSchema = (schema: JsonObject, what = 'A schema'): JsonObject => {
  const reader = new Reader(schema, what)
  const root = reader.clean(schema, 0)
  const $defs = reader.definitions()
  return $defs.length === 0 ? root : { ...root, $defs: Object.fromEntries($defs) }
}

class Reader {
  readonly #what: string
  readonly #find: (reference: string) => JsonValue | undefined
  /** The schemas that are referred to, each with its name among the definitions. */
  readonly #names = new Map<JsonValue, string>()
  /** The names that are taken, each with the number that it was last given with. */
  readonly #taken = new Map<string, number>()
  #left = mostSchemas

  constructor(document: JsonObject, what: string) {
    this.#what = what
    this.#find = referencesIn(document)
  }

  /** Everything that was referred to, including by what is only found here. */
  definitions(): [string, JsonObject][] {
    const read: [string, JsonObject][] = []
    // A map shows what is added to it while it is gone through.
    for (const [target, name] of this.#names) read.push([name, this.clean(target, 0)])
    return read
  }

  clean(schema: JsonValue, depth: number): JsonObject {
    if (schema === false) return { not: {} }
    if (!isJsonObject(schema)) return {}
    if (depth > deepestJson) throw new ConfigurationError(`${this.#what} ${tooDeep}.`)
    this.#left -= 1
    if (this.#left < 0) {
      throw new ConfigurationError(`${this.#what} holds more than ${mostSchemas} schemas: split it up.`)
    }
    const cleaned: [string, JsonValue][] = []
    for (const [key, value] of Object.entries(modern(schema))) {
      const meant = meaningful.has(key) ? this.#keyword(key, value, depth + 1) : undefined
      if (meant !== undefined) cleaned.push([key, meant])
    }
    const node = Object.fromEntries(cleaned)
    return schema.nullable === true ? withNull(node) : node
  }

  /** The value of a keyword as it is meant; undefined where it means nothing. */
  #keyword(key: string, value: JsonValue, depth: number): JsonValue | undefined {
    if (value === null) return key === 'const' || key === 'default' ? null : undefined
    if (key === '$ref') return typeof value === 'string' ? this.#reference(value) : undefined
    if (key === 'additionalProperties' || key === 'items') return this.#openOrClosed(value, depth)
    if (oneSchema.has(key)) return this.clean(value, depth)
    if (manySchemas.has(key)) return Array.isArray(value) ? this.#each(value, depth) : undefined
    if (namedSchemas.has(key)) return isJsonObject(value) ? this.#named(value, depth) : undefined
    return dataOf(key, value)
  }

  #each(schemas: JsonValue[], depth: number): JsonValue[] | undefined {
    return schemas.length === 0 ? undefined : schemas.map((schema) => this.clean(schema, depth))
  }

  #named(schemas: JsonObject, depth: number): JsonObject {
    const entries = Object.entries(schemas).filter(([, schema]) => schema !== null)
    return Object.fromEntries(
      // A list among `dependencies` names what is required, which is data.
      entries.map(([name, schema]) => [name, Array.isArray(schema) ? schema : this.clean(schema, depth)]),
    )
  }

  #openOrClosed(value: JsonValue, depth: number): JsonValue {
    if (value === false) return false
    const schema = this.clean(value, depth)
    return Object.keys(schema).length === 0 ? true : schema
  }

  #reference(reference: string): string {
    const target = this.#find(reference)
    if (target === undefined || !(isJsonObject(target) || typeof target === 'boolean')) {
      throw new ConfigurationError(
        `${this.#what} refers to "${reference}", which is not in it. Define it under $defs: references to other documents are not followed.`,
      )
    }
    const name = this.#names.get(target) ?? this.#freeName(reference)
    this.#names.set(target, name)
    return `#/$defs/${name}`
  }

  /** The last word of the reference, where no other definition has it; APIs take plain names only. */
  #freeName(reference: string): string {
    const word = reference.replace(/^.*[#/]/s, '').replace(/[^\w.-]/g, '_') || 'root'
    const plain = word === '__proto__' ? 'proto' : word
    let name = plain
    let count = this.#taken.get(plain) ?? 1
    for (; this.#taken.has(name); name = `${plain}_${count}`) count += 1
    this.#taken.set(plain, count).set(name, 1)
    return name
  }
}

/** The keywords of older drafts, in today's. */
const modern = (schema: JsonObject): JsonObject => {
  const { items, additionalItems, exclusiveMinimum, exclusiveMaximum, ...rest } = schema
  const reference = rest.$ref ?? rest.$recursiveRef ?? rest.$dynamicRef
  const inclusive = { minimum: rest.minimum ?? null, maximum: rest.maximum ?? null }
  return {
    ...rest,
    ...(reference !== undefined && { $ref: reference }),
    ...(Array.isArray(items)
      ? { prefixItems: items, ...(additionalItems !== undefined && { items: additionalItems }) }
      : items !== undefined && { items }),
    ...(exclusiveMinimum === true
      ? { exclusiveMinimum: inclusive.minimum, minimum: null }
      : exclusiveMinimum !== undefined && { exclusiveMinimum }),
    ...(exclusiveMaximum === true
      ? { exclusiveMaximum: inclusive.maximum, maximum: null }
      : exclusiveMaximum !== undefined && { exclusiveMaximum }),
  }
}

const types: ReadonlySet<JsonValue> = new Set([
  ...['null', 'boolean', 'integer', 'number', 'string', 'array', 'object'],
])

const dataOf = (key: string, value: JsonValue): JsonValue | undefined => {
  if (numeric.has(key)) return typeof value === 'number' ? value : undefined
  if (key === 'type') return typeOf(value)
  if (key === 'required') return Array.isArray(value) ? value.filter(isString) : undefined
  if (key === 'enum') return Array.isArray(value) && value.length > 0 ? value : undefined
  if (key === 'pattern') return typeof value === 'string' && isPattern(value) ? value : undefined
  if (key === 'description' || key === 'title' || key === 'format') return isString(value) ? value : undefined
  return value
}

const isString = (value: JsonValue): value is string => typeof value === 'string'

const typeOf = (value: JsonValue): JsonValue | undefined => {
  const known = [value].flat().filter(isString)
  const names = [...new Set(known.map((name) => name.toLowerCase()))].filter((name) => types.has(name))
  return names.length > 1 ? names : names[0]
}

const withNull = (node: JsonObject): JsonObject => {
  const type = ownValue(node, 'type')
  if (type !== undefined) return { ...node, type: [...new Set([type, 'null'].flat())] }
  return Object.keys(node).length === 0 ? node : { anyOf: [node, { type: 'null' }] }
}

const isPattern = (value: string): boolean => {
  try {
    new RegExp(value, 'u')
    return true
  } catch {
    return false
  }
}

/** Finds what the references of one document mean. Only the document itself is searched: nothing is ever fetched. */
const referencesIn = (document: JsonObject): ((reference: string) => JsonValue | undefined) => {
  const base = documentUri(document)
  let named: Map<string, JsonObject> | undefined
  return (reference) => {
    if (reference === '#' || reference.startsWith('#/')) return atPointer(document, reference.slice(1))
    named ??= namedIn(document, base)
    const [place = '', fragment = ''] = absolute(reference, base).split('#', 2)
    const within = place === base ? document : named.get(place)
    if (fragment === '' || fragment.startsWith('/')) return within && atPointer(within, fragment)
    return named.get(`${place}#${fragment}`)
  }
}

/** Documents without their own address still have anchors, which need something before them. */
const nowhere = 'schema:/'

const documentUri = (document: JsonObject): string => {
  const id = ownValue(document, '$id') ?? ownValue(document, 'id')
  return typeof id === 'string' ? (absolute(id, nowhere).split('#', 1)[0] ?? nowhere) : nowhere
}

const absolute = (reference: string, base: string): string =>
  URL.canParse(reference, base) ? new URL(reference, base).href : reference

/** Everything in the document that has its own name: embedded documents and anchors. */
const namedIn = (document: JsonObject, documentBase: string): Map<string, JsonObject> => {
  const named = new Map<string, JsonObject>()
  const open: { value: JsonValue; base: string }[] = [{ value: document, base: documentBase }]
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, base } = next
    if (Array.isArray(value)) for (const item of value) open.push({ value: item, base })
    if (!isJsonObject(value)) continue
    const id = ownValue(value, '$id')
    const inner = typeof id === 'string' ? (absolute(id, base).split('#', 1)[0] ?? base) : base
    if (inner !== base) named.set(inner, value)
    for (const key of ['$anchor', '$dynamicAnchor']) {
      const anchor = ownValue(value, key)
      if (typeof anchor === 'string') named.set(`${inner}#${anchor}`, value)
    }
    for (const child of Object.values(value)) open.push({ value: child, base: inner })
  }
  return named
}

const atPointer = (document: JsonObject, pointer: string): JsonValue | undefined => {
  let place: JsonValue | undefined = document
  for (const step of pointer.split('/').slice(1)) {
    const key = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(place)) place = /^\d+$/.test(key) ? place[Number(key)] : undefined
    else place = isJsonObject(place) ? ownValue(place, key) : undefined
  }
  return place
}

const decoded = (step: string): string => {
  try {
    return decodeURIComponent(step)
  } catch {
    return step
  }
}
