import { type Dialect, scalars } from '../../src/schema/dialect.ts'

/**
 * What Ollama shows to models of a tool's input. Its server reads `type`, `items`, `description`, `enum`, `anyOf`,
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
