import { type Dialect, oneOf } from '../../src/schema/dialect.ts'

/**
 * What Gemini documents for `parametersJsonSchema` and `responseJsonSchema` (types of @google/genai 2.32).
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
