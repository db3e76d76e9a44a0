import { type Dialect, oneOf, plainPattern, scalars } from '../../src/schema/dialect.ts'
import type { Enforcement } from '../../src/schema/enforceable.ts'

/**
 * What OpenAI takes with `strict`, and Mistral, whose compiler of schemas is the same. Without `strict` a few keywords
 * more are let through and others are not (`propertyNames`, a union at the root, a list without `items`), so one table
 * serves for both. developers.openai.com/api/docs/guides/structured-outputs, read in October 2026.
 */
export const openaiDialect: Dialect = {
  references: 'kept',
  keywords: {
    title: true,
    // Zod spells formats out as patterns with lookaround, which answers 400 even without `strict`.
    pattern: plainPattern,
    format: oneOf('date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'),
    ...{ minimum: true, maximum: true, exclusiveMinimum: true, exclusiveMaximum: true, multipleOf: true },
    ...{ minItems: true, maxItems: true },
  },
  values: { types: scalars, const: true },
  tuples: 'items',
  bareArrays: false,
  additionalProperties: true,
  listsRequired: true,
}

export const openaiStrict: Enforcement = {
  optional: 0,
  unions: Infinity,
  depth: 10,
  members: 5000,
  values: 1000,
  characters: 120_000,
  recursion: true,
}

/**
 * What every server takes that speaks OpenAI's protocol. Their compilers of schemas differ, and most refuse the whole
 * request for one keyword: llama.cpp a `pattern` with `\\d` or without anchors and a large `maxLength`, Groq
 * `minItems`, Fireworks `oneOf`. So the shape is sent, and the rest goes into the description.
 */
export const compatibleDialect: Dialect = {
  references: 'kept',
  keywords: { title: true, default: true, format: oneOf('date-time', 'date', 'time', 'uuid') },
  values: { types: scalars, const: true },
  tuples: 'items',
  bareArrays: false,
  additionalProperties: true,
}
