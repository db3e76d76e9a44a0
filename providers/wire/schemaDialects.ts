import { type Dialect, oneOf, plainPattern, scalars } from '../../src/schema/dialect.ts'
import type { Enforcement } from '../../src/schema/enforceable.ts'

/**
 * The input of a tool in Anthropic's Messages API: JSON Schema 2020-12, but no union at the root and only plain
 * names of members. The model reads the schema as text, so nearly everything is left as it is.
 */
export const anthropicToolDialect: Dialect = {
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
 * Anthropic's `output_config.format`: closed objects, no bounds on numbers, texts and lists, no tuples, no values of just
 * any type (platform.claude.com/docs/en/build-with-claude/structured-outputs, and lib/transform-json-schema of the SDK).
 */
export const anthropicAnswerDialect: Dialect = {
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

/** The limits of Anthropic's grammars: more optional members or unions answer 400, and so does a grammar that grows too large. */
export const anthropicGrammar: Enforcement = {
  optional: 24,
  unions: 16,
  depth: 32,
  members: 1000,
  values: 1000,
  characters: 100_000,
  recursion: false,
}

/**
 * Gemini's `parametersJsonSchema` and `responseJsonSchema`, as documented (types of @google/genai 2.32).
 *
 * The older `parameters` and `responseSchema` are closed messages: one unknown keyword rejects the whole request, and
 * unions and null types cannot be said. The JSON Schema fields take both on every live model. References are written
 * out all the same: Gemini refuses keywords beside `$ref`, and loops of required fields.
 */
export const geminiDialect: Dialect = {
  references: 'written out',
  keywords: {
    title: true,
    format: oneOf('date-time', 'date', 'time', 'int32', 'int64', 'float', 'double'),
    ...{ minItems: true, maxItems: true, minimum: true, maximum: true, propertyOrdering: true },
  },
  values: { types: ['string', 'number'], const: false },
  tuples: 'prefixItems',
  bareArrays: false,
  additionalProperties: true,
}

/**
 * OpenAI's dialect under `strict`, and Mistral's, whose compiler of schemas is the same. Without `strict` a few keywords
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
 * The keywords that every server of OpenAI's protocol takes. Their compilers of schemas differ, and most refuse the whole
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

/**
 * Cohere's structured outputs: no ranges, no lengths, no anchors in patterns, four formats, and `anyOf` alone
 * of the combinations (docs.cohere.com/docs/structured-outputs, August 2026).
 */
export const cohereDialect: Dialect = {
  references: 'kept',
  keywords: {
    title: true,
    default: true,
    format: oneOf('date-time', 'uuid', 'date', 'time'),
    pattern: (value) => typeof value === 'string' && !/[\^$]|\?[=!<]/.test(value),
  },
  values: { types: scalars, const: true },
  tuples: 'items',
  bareArrays: true,
  additionalProperties: true,
}

/** The answer dialect of Cohere: every object must require something; an answer with every field also fits a schema that requires none. */
export const cohereAnswerDialect: Dialect = { ...cohereDialect, requiresOne: true }

/**
 * The part of a tool's input that Ollama shows to models. Its server reads `type`, `items`, `description`, `enum`, `anyOf`,
 * `properties` and `required` of a property into a struct, and drops everything else unseen (api/types.go).
 */
export const ollamaToolDialect: Dialect = {
  references: 'written out',
  keywords: {},
  values: { types: scalars, const: false },
  tuples: 'items',
  bareArrays: true,
  additionalProperties: false,
}
