import { anthropicModels } from './anthropic.ts'
import { bedrockModels } from './bedrock.ts'
import { googleModels } from './google.ts'
import { mistralModels } from './mistral.ts'
import { knownModel, type ModelFacts } from './modelFacts.ts'
import { openaiModels } from './openai.ts'
import { deepseekModels, openWeightModels } from './openWeights.ts'
import { cohereModels, perplexityModels, xaiModels } from './vendors.ts'

/**
 * Models of any vendor, for gateways and clouds. A vendor's own table knows its models better than that of the open
 * weights, and DeepSeek's comes before that of Mistral, which hosts some of its models for text alone.
 */
const tables = [
  openaiModels,
  anthropicModels,
  googleModels,
  deepseekModels,
  mistralModels,
  cohereModels,
  xaiModels,
  perplexityModels,
  openWeightModels,
  // Amazon's own models.
  bedrockModels,
]

/** The facts about a model of any vendor; for one that is not known, those of the newest open weights. */
export const factsOfAnyVendor = (model: string): ModelFacts => {
  for (const table of tables) {
    const known = knownModel(table, model)
    if (known) return known
  }
  return openWeightModels.newest
}
