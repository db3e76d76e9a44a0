import { dereference, validate } from '@cfworker/json-schema'
import { type $ZodRawIssue, type $ZodType, config, toJSONSchema, util } from 'zod/v4/core'
import { ConfigurationError, describeThrown } from '../messages/errors.ts'
import { copyJson, type JsonObject } from '../messages/json.ts'
import { readSchema } from '../schema/readSchema.ts'
import { isThenable } from './isThenable.ts'

/** The part of the Standard Schema interface (standardschema.dev) that statewire uses. */
export type StandardSchema<Output = unknown> = {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
    /** Writes the schema as JSON Schema, where its library has Standard JSON Schema. */
    readonly jsonSchema?:
      | { readonly input: (options: { readonly target: 'draft-2020-12' }) => object }
      | undefined
  }
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

type StandardIssue = {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/**
 * Anything that describes a value: a zod 4 schema; a schema of another library with Standard JSON Schema, such as ArkType
 * or Valibot; a Standard Schema validator together with its JSON Schema; or a JSON Schema alone, which is then validated as
 * it is.
 */
export type Schema = StandardSchema | { jsonSchema: JsonObject; schema?: StandardSchema }

/** The type of the values that fit a schema. A bare JSON Schema gives `JsonObject`. */
export type Infer<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { output: infer Output }
    ? Output
    : unknown
  : S extends { schema: infer Inner }
    ? Infer<Inner>
    : JsonObject

export type Validation<T> = { ok: true; value: T } | { ok: false; problem: string }

/** A schema in the two forms statewire needs: the JSON Schema for the model, and the check of its answer. */
export type CompiledSchema<T> = {
  jsonSchema: JsonObject
  validate(value: unknown): Validation<T> | Promise<Validation<T>>
}

const isStandard = (schema: object): schema is StandardSchema => '~standard' in schema
const isZod = (schema: object): schema is $ZodType & StandardSchema => '_zod' in schema

export const compileSchema = <S extends Schema>(schema: S, what: string): CompiledSchema<Infer<S>> => {
  if (!schema || (typeof schema !== 'object' && typeof schema !== 'function')) throw notASchema(what, schema)
  if (isStandard(schema)) {
    return { jsonSchema: jsonSchemaOf(schema, what), validate: validateStandard<Infer<S>>(schema) }
  }
  if (!schema.jsonSchema || typeof schema.jsonSchema !== 'object') throw notASchema(what, schema)
  const jsonSchema = jsonOf(schema.jsonSchema, what)
  // Read here, so that a schema which cannot be understood is refused here and not in the middle of a run.
  const understood = readSchema(jsonSchema, what)
  if (schema.schema) return { jsonSchema, validate: validateStandard<Infer<S>>(schema.schema) }
  return { jsonSchema, validate: validateJsonSchema<Infer<S>>(understood) }
}

/** A copy, so that a schema which is circular, or not JSON, is refused here and not in the middle of a run. */
const jsonOf = (jsonSchema: JsonObject, what: string): JsonObject => {
  try {
    return copyJson(jsonSchema) as JsonObject
  } catch (cause) {
    throw new ConfigurationError(`${what} is not JSON Schema: it holds ${describeThrown(cause)}.`, { cause })
  }
}

const notASchema = (what: string, given: unknown) =>
  new ConfigurationError(
    `${what} needs a zod schema, { jsonSchema, schema } with a Standard Schema validator, or { jsonSchema }.${adviceOn(given)}`,
  )

/** Advice for a JSON Schema alone, and for the fields of an object without the object. */
const adviceOn = (given: unknown): string => {
  const { type, properties, schema } = Object(given)
  if (isStandard(Object(schema))) return ' Write the schema itself, without { schema }.'
  if (typeof type === 'string' || Object(properties) === properties)
    return ' Write { jsonSchema: { … } } around this JSON Schema.'
  const isField = (field: unknown) => isStandard(Object(field))
  return Object.values(Object(given)).some(isField) ? ' Write z.object({ … }) around these fields.' : ''
}

const jsonSchemaOf = (schema: StandardSchema, what: string): JsonObject => {
  if (!isZod(schema)) {
    const written = writtenByLibrary(schema, what)
    if (written) return written
    if (schema['~standard'].vendor === 'zod')
      throw new ConfigurationError(
        `${what} is a schema of zod 3, which cannot be written as JSON Schema: import { z } from 'zod/v4', or install zod 4.`,
      )
    throw new ConfigurationError(
      `${what} is a ${schema['~standard'].vendor} schema without Standard JSON Schema: pass { jsonSchema, schema } so that the model can see its shape.`,
    )
  }
  try {
    const json = toJSONSchema(schema, {
      io: 'input',
      // Unknown keys are stripped by a plain zod object: a model that sees this does not invent any.
      override: ({ zodSchema, jsonSchema }) => {
        if (zodSchema._zod.def.type === 'object' && !jsonSchema.$ref)
          jsonSchema.additionalProperties ??= false
      },
    })
    const { $schema: _, '~standard': __, ...rest } = json
    return copyJson(rest) as JsonObject
  } catch (error) {
    const problem = describeThrown(error)
    const meant = Object.entries(writable).find(([type]) => problem.startsWith(`${type} `))?.[1]
    const advice = `Write ${meant ? `${meant} instead` : 'a schema of plain JSON'}, or pass { jsonSchema, schema }.`
    throw new ConfigurationError(
      `${what} cannot be written as JSON Schema for a model: ${problem}. ${advice}`,
      { cause: error },
    )
  }
}

/** Types that a model can write, by the type of zod that it cannot. */
const writable = { Date: 'z.iso.datetime()', Map: 'z.record()', Set: 'z.array()', BigInt: 'z.int()' }

/** The JSON Schema that the library of a schema writes itself; undefined where it cannot. */
const writtenByLibrary = (schema: StandardSchema, what: string): JsonObject | undefined => {
  const { vendor, jsonSchema } = schema['~standard']
  if (typeof jsonSchema?.input !== 'function') return undefined
  try {
    const { $schema: _, ...written } = copyJson(jsonSchema.input({ target: 'draft-2020-12' })) as JsonObject
    // Read here, so that a schema which cannot be understood is refused here and not in the middle of a run.
    readSchema(written, what)
    return written
  } catch (cause) {
    const problem = `${what} cannot be written as JSON Schema by ${vendor}: ${describeThrown(cause)}`
    throw new ConfigurationError(`${problem} Pass { jsonSchema, schema } instead.`, { cause })
  }
}

const validateStandard =
  <T>(schema: StandardSchema) =>
  (value: unknown): Validation<T> | Promise<Validation<T>> => {
    const result = isZod(schema) ? runZod(schema, value) : schema['~standard'].validate(value)
    return isThenable(result) ? Promise.resolve(result).then(toValidation<T>) : toValidation<T>(result)
  }

/**
 * The result of zod's own `validate`, from one run instead of two: that one tries without promises first, and lets go of
 * the promise it meets, so that a refinement which rejects is an unhandled rejection.
 */
const runZod = (
  schema: $ZodType,
  value: unknown,
): StandardResult<unknown> | Promise<StandardResult<unknown>> => {
  const context = { async: true }
  const standard = (payload: { value: unknown; issues: $ZodRawIssue[] }): StandardResult<unknown> =>
    payload.issues.length === 0
      ? { value: payload.value }
      : { issues: payload.issues.map((issue) => util.finalizeIssue(issue, context, config())) }
  const payload = schema._zod.run({ value, issues: [] }, context)
  return payload instanceof Promise ? payload.then(standard) : standard(payload)
}

const toValidation = <T>(result: StandardResult<unknown>): Validation<T> =>
  result.issues
    ? { ok: false, problem: result.issues.map(describeIssue).join('; ') }
    : { ok: true, value: result.value as T }

const describeIssue = ({ message, path }: StandardIssue): string => {
  const keys = (path ?? []).map((key) => String(typeof key === 'object' ? key.key : key))
  return keys.length > 0 ? `${keys.join('.')}: ${message}` : message
}

/** The validator overflowed or failed: it is not known whether such a value fits. */
const unchecked = (thrown: unknown) => ({
  keyword: 'depth',
  instanceLocation: '#',
  error:
    thrown instanceof RangeError
      ? 'It nests too deeply to be checked.'
      : `It cannot be checked: ${describeThrown(thrown)}`,
})

/** The most places of a value times characters of a schema whose problems are all listed: each may repeat a list of values. */
const mostListed = 1_000_000

/** The most problems that are listed: the model corrects those, and sees the others when it tries again. */
const mostProblems = 50

/**
 * The check of values against a schema that `readSchema` has read. The first problem ends the check; all are listed only if
 * that is cheap, because a list of values may be repeated for each item of a long list. `sizeOf` counts the characters.
 */
export const validateJsonSchema = <T>(
  schema: JsonObject,
  sizeOf: () => number = () => JSON.stringify(schema).length,
): ((value: unknown) => Validation<T>) => {
  // Made when it is needed: a server may list a thousand tools that are never called.
  let lookup: ReturnType<typeof dereference> | undefined
  const check = (value: unknown, isWhole = false) => {
    try {
      lookup ??= dereference(schema)
      return validate(value, schema, '2020-12', lookup, !isWhole)
    } catch (thrown) {
      return { valid: false, errors: [unchecked(thrown)] }
    }
  }
  return (value) => {
    const { valid, errors: first } = check(value)
    if (valid) return { ok: true, value: value as T }
    const isCheap = workOf(value, sizeOf(), mostListed) <= mostListed
    const errors = isCheap ? check(value, true).errors : first
    // The innermost errors say what is wrong; the ones around them only repeat where.
    const problems = errors.filter(({ keyword }) => keyword !== 'properties' && keyword !== 'items')
    return {
      ok: false,
      problem: (problems.length > 0 ? problems : errors)
        .slice(0, mostProblems)
        .map(({ instanceLocation, error }) => `${instanceLocation.replace(/^#\/?/, '') || 'value'}: ${error}`)
        .join('; '),
    }
  }
}

/** The work of a check at most: each place of a value may meet each character of a schema. Counting stops at `most`. */
export const workOf = (value: unknown, size: number, most: number): number => {
  let work = 0
  const open = [value]
  while (open.length > 0 && work <= most) {
    const next = open.pop()
    work += size
    if (typeof next === 'object' && next !== null) for (const each of Object.values(next)) open.push(each)
  }
  return work
}
