import { type Dialect, oneOf, scalars } from '../../src/schema/dialect.ts'

/**
 * What Cohere's structured outputs take: no ranges, no lengths, no anchors in patterns, four formats, and `anyOf` alone
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

/** An answer's objects must require something; an answer with every field also fits a schema that requires none. */
export const cohereAnswerDialect: Dialect = { ...cohereDialect, requiresOne: true }
