import { isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'
import { withWords } from './remarks.ts'
import { impossible, objectsIn, type Scope, settle } from './scope.ts'

/** More branches than this are not listed in words. */
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
    properties: unitedMembers(branches),
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
const unitedMembers = (branches: JsonObject[]): JsonObject => {
  const forms = new Map<string, Map<string, JsonObject>>()
  for (const { properties } of branches) {
    for (const [name, member] of Object.entries(isJsonObject(properties) ? properties : {})) {
      const known = forms.get(name) ?? new Map<string, JsonObject>()
      if (isJsonObject(member)) known.set(JSON.stringify(member), member)
      forms.set(name, known)
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

/** Which members belong together: `(one of: { kind: "a", x } or { kind: "b", y? })` */
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
