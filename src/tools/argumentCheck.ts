import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../messages/json.ts'
import { numeric } from '../schema/dialect.ts'
import { readSchema } from '../schema/readSchema.ts'
import { jsonLength } from '../schema/scope.ts'
import { type StandardSchema, validateJsonSchema, workOf } from './schema.ts'

/** The most schemas that are checked here; the server checks the others. */
const mostSchemas = 2000

/** The most places of the arguments times characters of the schema that are compared here; the server checks the others. */
const mostCompared = 2 ** 26

/** A recursive type is checked to this depth. */
const mostRounds = 2

/**
 * The check of arguments against the schema of a server, in time that is linear in the arguments. Patterns, formats and
 * negations are left to the server, and references are written out up to a limit, because each of them can make a check
 * endless. So the check may pass a call that the server refuses, but never refuses a call that the server takes.
 */
export const argumentCheck = (jsonSchema: JsonObject): StandardSchema<JsonObject> => {
  const { $defs, ...root } = readSchema(jsonSchema)
  const loosened = () => {
    const loosening = new Loosening(isJsonObject($defs) ? $defs : {})
    const schema = loosening.schema(root, [])
    return { size: loosening.size, validate: validateJsonSchema<JsonObject>(schema, () => loosening.size) }
  }
  // Made when it is needed: a server may list a thousand tools that are never called.
  let check: ReturnType<typeof loosened> | undefined
  return {
    '~standard': {
      version: 1,
      vendor: 'statewire',
      validate: (given) => {
        check ??= loosened()
        const value = withDefaults(root, given, deepestDefault)
        const isTooMuch = workOf(value, check.size, mostCompared) > mostCompared
        if (isTooMuch && isJsonObject(value)) return { value }
        const checked = check.validate(value)
        return checked.ok ? { value: checked.value } : { issues: [{ message: checked.problem }] }
      },
    },
  }
}

/** Defaults are filled in to this depth. */
const deepestDefault = 8

/** Fills in what is required and has a default, as servers do: a model may take the default for an answer. */
const withDefaults = (schema: JsonValue | undefined, value: unknown, depth: number): unknown => {
  if (!isJsonObject(schema) || !isJsonObject(value) || depth === 0) return value
  const properties = isJsonObject(schema.properties) ? schema.properties : {}
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const filled = Object.entries(properties).flatMap(([name, each]): [string, unknown][] => {
    if (Object.hasOwn(value, name)) return [[name, withDefaults(each, ownValue(value, name), depth - 1)]]
    const isDue = required.has(name) && isJsonObject(each) && each.default !== undefined
    return isDue ? [[name, structuredClone(each.default)]] : []
  })
  return { ...value, ...Object.fromEntries(filled) }
}

/** Keywords that are checked as they are. Bounds on numbers and lengths are too. */
const plain: ReadonlySet<string> = new Set(['type', 'enum', 'const', 'required', 'dependentRequired'])

/** Writes a schema that allows the same or more. */
class Loosening {
  readonly #defs: JsonObject
  #left = mostSchemas
  /** The characters that a value is compared with, roughly: a list of values counts in each schema that has it. */
  size = 0

  constructor(defs: JsonObject) {
    this.#defs = defs
  }

  schema(given: JsonValue | undefined, open: readonly string[]): JsonObject {
    this.#left -= 1
    this.size += 8
    if (!isJsonObject(given) || this.#left < 0) return {}
    const { properties, items, prefixItems, additionalProperties: extra, patternProperties } = given
    const all = [
      ...(typeof given.$ref === 'string' ? [this.#reference(given.$ref, open)] : []),
      ...this.#each(given.allOf, open),
      // Two branches that differ only in their patterns look the same here.
      ...[given.anyOf, given.oneOf].flatMap((branches) => {
        const anyOf = this.#each(branches, open)
        return anyOf.length === 0 ? [] : [{ anyOf }]
      }),
    ]
    const own = Object.entries(given).filter(
      ([key]) => plain.has(key) || (numeric.has(key) && !/Contains$/.test(key)),
    )
    for (const [, each] of own) this.size += jsonLength(each)
    return {
      ...Object.fromEntries(own),
      ...(isJsonObject(properties) && {
        properties: Object.fromEntries(
          Object.entries(properties).map(([name, each]) => [name, this.schema(each, open)]),
        ),
      }),
      ...(Array.isArray(prefixItems) && { prefixItems: this.#each(prefixItems, open) }),
      ...(items !== undefined && { items: this.#extra(items, open) }),
      ...(extra !== undefined && !patternProperties && { additionalProperties: this.#extra(extra, open) }),
      ...(all.length > 0 && { allOf: all }),
    }
  }

  #each(given: JsonValue | undefined, open: readonly string[]): JsonObject[] {
    return Array.isArray(given) ? given.map((each) => this.schema(each, open)) : []
  }

  #extra(given: JsonValue, open: readonly string[]): JsonValue {
    return typeof given === 'boolean' ? given : this.schema(given, open)
  }

  #reference(reference: string, open: readonly string[]): JsonObject {
    const name = reference.slice('#/$defs/'.length)
    if (open.filter((each) => each === name).length >= mostRounds) return {}
    return this.schema(ownValue(this.#defs, name), [...open, name])
  }
}
