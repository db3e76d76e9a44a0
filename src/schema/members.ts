import { isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'
import type { Scope } from './scope.ts'

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
