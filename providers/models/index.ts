import { anthropicModels } from './anthropic.ts'
import { cohereModels } from './cohere.ts'
import { googleModels } from './google.ts'
import { fireworksModels, groqModels, nvidiaModels, togetherModels } from './hosts.ts'
import { mistralModels } from './mistral.ts'
import type { ModelTable } from './modelFacts.ts'
import { openaiModels } from './openai.ts'
import { openWeightModels } from './openWeights.ts'
import { deepseekModels, xaiModels } from './vendors.ts'

/** All that is known of models, by provider. */
export const modelTables: readonly ModelTable[] = [
  openaiModels,
  anthropicModels,
  googleModels,
  mistralModels,
  cohereModels,
  deepseekModels,
  xaiModels,
  groqModels,
  togetherModels,
  fireworksModels,
  nvidiaModels,
  openWeightModels,
]
