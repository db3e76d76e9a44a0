import { ConfigurationError } from '../messages/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../messages/json.ts'
import type { Dialect } from './dialect.ts'
import { intersect } from './intersect.ts'

/** Where in a schema the walker is. */
export type Scope = {
  readonly dialect: Dialect
  readonly defs: JsonObject
  /** The definitions that are being written out around this place. */
  readonly open: readonly string[]
  readonly depth: number
  readonly walk: Walk
}

/** What one walk through a schema has done so far. */
export class Walk {
  /** The definitions that are referred to, in the order in which they were found. */
  readonly referred = new Set<string>()
  #schemas = 0
  #writtenOut = 0

  /** Unions and definitions are written out, which can make a lot of little. */
  count(): void {
    this.#schemas += 1
    if (this.#schemas > mostSchemas) {
      throw new ConfigurationError(
        `A schema grows to more than ${mostSchemas} schemas when it is written for this provider: split it up, or use fewer unions.`,
      )
    }
  }

  /** Whether a definition may be written out once more at this place. */
  mayWriteOut(name: string, { open, depth }: Scope): boolean {
    const rounds = open.filter((other) => other === name).length
    return (
      rounds < mostRounds &&
      open.length < mostNested &&
      depth < deepestWrittenOut &&
      this.#writtenOut < mostWrittenOut
    )
  }

  writeOut(): void {
    this.#writtenOut += 1
  }
}

const mostSchemas = 40_000
/** Recursive types are written out this often, then only named; and no schema may grow without end. */
const mostRounds = 2
const mostNested = 32
const deepestWrittenOut = 64
const mostWrittenOut = 500

/** Of no value: `{ not: {} }`, in the same object, so that it can be recognised. */
export const impossible: JsonObject = { not: {} }

/** The name of the definition, where a schema is a reference and nothing else. */
export const referenceOf = (schema: JsonObject): string | undefined => {
  const keys = Object.keys(schema)
  const only = keys.length === 1 ? schema[keys[0] ?? ''] : undefined
  if (keys[0] === '$ref' && typeof only === 'string') return definitionName(only)
  const [part] = keys[0] === 'allOf' && Array.isArray(only) && only.length === 1 ? only : []
  return isJsonObject(part) ? referenceOf(part) : undefined
}

const definitionName = (reference: string): string => reference.slice('#/$defs/'.length)

export type Settled = { node: JsonObject; open: readonly string[] }

/**
 * A schema with its `allOf`, and a reference that has company, written into it; its unions are under `anyOf`. A
 * definition that is open around here for the second time is left out: the result allows more, never less.
 */
export const settle = (schema: JsonObject, scope: Scope): Settled => {
  const { $ref, allOf, anyOf, oneOf, ...own } = schema
  const parts = [
    ...(typeof $ref === 'string' ? [{ $ref }] : []),
    ...objectsIn(allOf),
    ...choice(objectsIn(anyOf)),
    ...choice(objectsIn(oneOf)),
  ]
  let { open } = scope
  let node: JsonObject = {}
  for (const part of parts) {
    const settled = isReference(part) ? follow(part.$ref, { ...scope, open }) : settlePart(part, scope, open)
    const both = intersect(node, settled.node)
    if (!both) return { node: impossible, open }
    node = both
    open = settled.open
  }
  return { node: intersect(node, own) ?? impossible, open }
}

/** A union of one is that one. */
const choice = (branches: JsonObject[]): JsonObject[] =>
  branches.length > 1 ? [{ anyOf: branches }] : branches

const isReference = (part: JsonObject): part is { $ref: string } =>
  typeof part.$ref === 'string' && Object.keys(part).length === 1

const settlePart = (part: JsonObject, scope: Scope, open: readonly string[]): Settled =>
  objectsIn(part.anyOf).length > 1 && Object.keys(part).length === 1
    ? { node: part, open }
    : settle(part, { ...scope, open })

const follow = (reference: string, scope: Scope): Settled => {
  const name = definitionName(reference)
  const target = ownValue(scope.defs, name)
  if (!isJsonObject(target)) return { node: {}, open: scope.open }
  if (!scope.walk.mayWriteOut(name, scope)) return { node: nameOnly(target), open: scope.open }
  scope.walk.writeOut()
  return settle(target, { ...scope, open: [...scope.open, name] })
}

/** The description of a type that is not written out again. */
const nameOnly = ({ type, title, description }: JsonObject): JsonObject => ({
  ...(type !== undefined && { type }),
  ...(title !== undefined && { title }),
  ...(description !== undefined && { description }),
})

export const objectsIn = (value: JsonValue | undefined): JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : []
