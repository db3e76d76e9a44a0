import { abilitiesOf } from '../models/abilities.ts'
import { factsOf } from '../models/modelFacts.ts'
import { openaiModels } from '../models/openai.ts'
import type { OpenAIResponsesProfile } from './profile.ts'

/** The profile of OpenAI's models over the Responses API. */
export const openaiResponsesProfile = (model: string, isOtherServer = false): OpenAIResponsesProfile => {
  const facts = factsOf(openaiModels, model)
  const { refuses, efforts } = facts
  return {
    ...abilitiesOf(facts, { schemaWithTools: true }),
    ...(refuses && { refuses }),
    ...(efforts && { efforts }),
    ...(!isOtherServer && { promptCache: 'key' }),
    anyFile: true,
  }
}

/** Whether chat completions refuse what the model is for: tools while it thinks, or the model itself. */
export const needsResponses = (model: string): boolean => factsOf(openaiModels, model).chat !== undefined
