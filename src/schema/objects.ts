import { isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'
import { withWords } from './dialect.ts'
import { impossible, objectsIn, type Scope, settle, type Walk } from './scope.ts'

/** The most branches that are listed in words. */
const mostInWords = 12

/**
 * The root as one object. No API takes a union as the arguments of a tool, so its branches become one object with the
 * members of all: required is what all require, and the description says which members belong together.
 */
export const rootObject = (root: JsonObject, scope: Scope): JsonObject => {
  // Nor does any take a list of whole arguments.
  const { anyOf, enum: _, const: __, ...own } = settle(root, scope).node
  // Arguments are always an object: of anything else there is nothing to say.
  if (own.type !== undefined && ![own.type].flat().includes('object')) return {}
  if (anyOf === undefined) return own
  const branches = branchesOf(own, objectsIn(anyOf), scope)
  if (branches.length === 0) return own
  const [first] = branches
  if (branches.length === 1 && first) return first
  const required = commonOf(branches.map((branch) => requiredIn(branch)))
  const isClosed = branches.every(({ additionalProperties }) => additionalProperties === false)
  return {
    type: 'object',
    ...(own.title !== undefined && { title: own.title }),
    ...withWords(own.description, inWords(branches)),
    properties: unitedMembers(branches, scope.walk),
    ...(required.length > 0 && { required }),
    ...(isClosed && { additionalProperties: false }),
  }
}

/** The branches that are objects, each with what holds for all; those of unions inside unions too. */
const branchesOf = (own: JsonObject, branches: JsonObject[], scope: Scope): JsonObject[] =>
  branches.flatMap((branch) => {
    scope.walk.count()
    const { node, open } = settle({ allOf: [{ type: 'object' }, own, branch] }, scope)
    if (node === impossible) return []
    const { anyOf, enum: _, const: __, ...rest } = node
    return anyOf === undefined ? [rest] : branchesOf(rest, objectsIn(anyOf), { ...scope, open })
  })

const requiredIn = ({ required }: JsonObject): JsonValue[] => (Array.isArray(required) ? required : [])

const commonOf = ([first = [], ...others]: JsonValue[][]): JsonValue[] => {
  const sets = others.map((names) => new Set(names))
  return first.filter((name) => sets.every((names) => names.has(name)))
}

/** A member that differs between the branches may be any of its forms. */
const unitedMembers = (branches: JsonObject[], walk: Walk): JsonObject => {
  const forms = new Map<string, Map<string, JsonObject>>()
  for (const { properties } of branches) {
    for (const [name, member] of Object.entries(isJsonObject(properties) ? properties : {})) {
      const known = forms.get(name) ?? new Map<string, JsonObject>()
      forms.set(name, known)
      if (!isJsonObject(member)) continue
      const json = JSON.stringify(member)
      walk.spend(json.length)
      known.set(json, member)
    }
  }
  return Object.fromEntries([...forms].map(([name, known]) => [name, anyForm([...known.values()])]))
}

const anyForm = (forms: JsonObject[]): JsonObject => {
  const [first = {}, ...others] = forms
  if (others.length === 0) return first
  const values = forms.map(listedBy)
  // The member that distinguishes the branches: one list of its values.
  return values.every((list) => list !== undefined) ? { enum: [...new Set(values.flat())] } : { anyOf: forms }
}

/** The values of a schema that does nothing but list them. */
const listedBy = ({ type, const: only, enum: list, ...rest }: JsonObject): JsonValue[] | undefined => {
  if (typeof type === 'object' || Object.keys(rest).length > 0) return undefined
  const values = only === undefined ? list : [only]
  return Array.isArray(values) && values.every((value) => !(value instanceof Object)) ? values : undefined
}

/** Says which members belong together: `(one of: { kind: "a", x } or { kind: "b", y? })` */
const inWords = (branches: JsonObject[]): string =>
  branches.length > mostInWords ? '' : `(one of: ${branches.map(branchInWords).join(' or ')})`

const branchInWords = (branch: JsonObject): string => {
  const required = new Set(requiredIn(branch))
  const names = Object.entries(isJsonObject(branch.properties) ? branch.properties : {}).map(
    ([name, member]) => {
      const only = isJsonObject(member) ? member.const : undefined
      if (only !== undefined) return `${name}: ${JSON.stringify(only)}`
      return required.has(name) ? name : `${name}?`
    },
  )
  return `{ ${names.join(', ')} }`
}

/** Names that a map may have are written as members, up to this many. */
const mostNames = 200

type Members = JsonObject & { remarks: [string, JsonValue][] }

/** The members of an object, which of them it requires, and what else it may hold. */
export const members = (
  node: JsonObject,
  scope: Scope,
  convert: (schema: JsonObject, scope: Scope) => JsonObject,
): Members => {
  const { dialect } = scope
  const { properties, required, additionalProperties: extra } = node
  const remarks: Members['remarks'] = []
  const sent = new Map<string, JsonObject>()
  for (const [name, member] of Object.entries(isJsonObject(properties) ? properties : {})) {
    const schema = isJsonObject(member) ? member : {}
    if (dialect.memberName && !dialect.memberName.test(name)) remarks.push([name, schema])
    else sent.set(name, convert(schema, scope))
  }
  const names = (Array.isArray(required) ? required : []).filter((name) => typeof name === 'string')
  const missing = names.filter((name) => !sent.has(name))
  if (missing.length > 0) remarks.push(['required', missing])
  const wanted = names.filter((name) => sent.has(name))
  if (wanted.length === 0 && dialect.requiresOne) wanted.push(...sent.keys())
  const isOpen = node.patternProperties !== undefined || remarks.length > 0
  const more = extrasOf(extra, isOpen, scope, convert)
  if (isJsonObject(extra) && !dialect.additionalProperties) remarks.push(['additionalProperties', extra])
  return {
    ...(properties !== undefined && { properties: Object.fromEntries(sent) }),
    ...((wanted.length > 0 || (dialect.listsRequired && extra === false)) && { required: wanted }),
    ...(properties !== undefined && dialect.closesObjects && extra === undefined && !isOpen
      ? { additionalProperties: false }
      : more),
    remarks,
  }
}

const extrasOf = (
  extra: JsonValue | undefined,
  isOpen: boolean,
  scope: Scope,
  convert: (schema: JsonObject, scope: Scope) => JsonObject,
): JsonObject => {
  if (!scope.dialect.additionalProperties || extra === undefined) return {}
  // A closed object would lose the members that could not be listed.
  if (typeof extra === 'boolean') return isOpen ? {} : { additionalProperties: extra }
  return isJsonObject(extra) ? { additionalProperties: isOpen || convert(extra, scope) } : {}
}

/** A map whose names are all known is an object with these members. */
export const namedMembers = (node: JsonObject): JsonObject => {
  const { propertyNames, ...rest } = node
  const { properties, additionalProperties: extra, patternProperties } = rest
  const names = isJsonObject(propertyNames) ? listedNames(propertyNames) : []
  if (names.length === 0 || names.length > mostNames || extra === false || patternProperties) return node
  const value = isJsonObject(extra) ? extra : {}
  const known = isJsonObject(properties) ? properties : {}
  const all = names.map((name) => [name, Object.hasOwn(known, name) ? known[name] : value])
  return { ...rest, properties: Object.fromEntries(all), additionalProperties: false }
}

const listedNames = ({ enum: list, const: only }: JsonObject): string[] =>
  (only === undefined ? (Array.isArray(list) ? list : []) : [only]).filter((name) => typeof name === 'string')
