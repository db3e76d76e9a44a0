import type { ModelProfile } from '../../src/model/chatModel.ts'
import { type AnthropicFacts, anthropicModels, otherVendors } from '../models/anthropic.ts'
import { abilitiesOf, knownModel } from '../models/modelFacts.ts'

/** What a model on the Messages API takes and refuses; the table of models says of each generation of Claude which. */
export type AnthropicProfile = ModelProfile &
  Pick<AnthropicFacts, 'efforts' | 'budget' | 'thinkingOff' | 'sampling'> & {
    /** The model's output limit; sent when the caller sets none, because the API has no default. */
    maxOutput: number
    /** Takes `tool_choice` `any` and `tool`. */
    forcedToolChoice: boolean
    /** What a cloud has of Anthropic's server tools: Vertex the search, Bedrock none. All where this is left out. */
    serverTools?: 'webSearch' | 'none'
  }

/**
 * The profile of a model by its name, also in the spellings of Bedrock, Vertex and gateways. Other servers may have other
 * vendors' models, which are older than any new Claude.
 */
export const anthropicProfile = (model: string, isOtherServer = false): AnthropicProfile => {
  const unknown = isOtherServer ? otherVendors : anthropicModels.newest
  const facts = knownModel(anthropicModels, model) ?? unknown
  const { efforts, budget, thinkingOff, sampling, maxOutput, forcedToolChoice = true } = facts
  return {
    ...abilitiesOf(facts, { schemaWithTools: facts !== otherVendors }),
    ...(efforts && { efforts }),
    ...(budget && { budget }),
    thinkingOff,
    sampling,
    maxOutput,
    forcedToolChoice,
  }
}
