import { type Dialect, oneOf, scalars } from '../../src/schema/dialect.ts'
import type { Enforcement } from '../../src/schema/enforceable.ts'

/**
 * What the Messages API takes as the input of a tool: JSON Schema 2020-12, but no union at the root and only plain
 * names of members. The model reads the schema as text, so nearly everything is left as it is.
 */
export const toolDialect: Dialect = {
  references: 'kept',
  keywords: {
    ...{ title: true, default: true, examples: true, format: true, pattern: true, multipleOf: true },
    ...{ minimum: true, maximum: true, exclusiveMinimum: true, exclusiveMaximum: true },
    ...{ minLength: true, maxLength: true, minItems: true, maxItems: true, uniqueItems: true },
    ...{ minProperties: true, maxProperties: true },
  },
  values: { types: [...scalars, 'array', 'object'], const: true },
  tuples: 'prefixItems',
  bareArrays: true,
  additionalProperties: true,
  memberName: /^[\w.-]{1,64}$/,
}

/**
 * What `output_config.format` takes: closed objects, no bounds on numbers, texts and lists, no tuples, no values of just
 * any type (platform.claude.com/docs/en/build-with-claude/structured-outputs, and lib/transform-json-schema of the SDK).
 */
export const answerDialect: Dialect = {
  references: 'kept',
  keywords: {
    title: true,
    format: oneOf(
      ...['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'],
    ),
    minItems: oneOf(0, 1),
  },
  values: { types: scalars, const: true },
  tuples: 'prefixItems',
  bareArrays: true,
  additionalProperties: true,
  closesObjects: true,
}

/** More than 24 optional members, or 16 with unions, answer 400; and so does a grammar that grows too large. */
export const answerGrammar: Enforcement = {
  optional: 24,
  unions: 16,
  depth: 32,
  members: 1000,
  values: 1000,
  characters: 100_000,
  recursion: false,
}
