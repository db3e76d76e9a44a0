import { embeddingModels, modelTables } from '../../providers/models/index.ts'
import { knownModel, type ModelFacts } from '../../providers/models/modelFacts.ts'

/** Today, as the dates of the tables are written. */
export const today = new Date().toISOString().slice(0, 10)

/** The row of a model in the table of its provider, or, for who passes on the models of others, in any. */
export const rowOf = (provider: string, model: string): ModelFacts | undefined => {
  const vendor = provider.replace(/^openai-(chat|responses)$/, 'openai')
  const own = modelTables.filter((table) => table.provider === vendor)
  // Bedrock has a table for what is other there than at the vendors.
  const tables = own.length > 0 && vendor !== 'bedrock' ? own : modelTables
  return [...tables, embeddingModels]
    .map((table) => knownModel(table, model))
    .find((row) => row !== undefined)
}
