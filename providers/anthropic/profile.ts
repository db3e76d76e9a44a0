import type { ModelProfile } from '../../src/model/chatModel.ts'
import { anthropicModels, otherVendors } from '../models/anthropic.ts'
import { abilitiesOf, type EffortWord, knownModel } from '../models/modelFacts.ts'
import type { ProfileFields } from '../wire/protocol.ts'

/** The abilities and limits of a model on the Messages API; the table of models has them for each generation of Claude. */
export type AnthropicProfile = ModelProfile & {
  /** The words for effort that the model takes, lowest first. */
  efforts?: readonly EffortWord[]
  /** The tokens that thinking may take, for models that are given a budget, and whether it can be switched off. */
  budget?: { min: number; max: number; canStop: boolean }
  /** The way to turn thinking off: leaving it out, one of these words, or none at all. */
  thinkingOff: 'omit' | 'disabled' | 'between_tools' | 'never'
  /** The sampling settings that it takes: `temperature` and `top_p`, one of the two, or neither. */
  sampling: 'both' | 'one' | 'none'
  /** The model's output limit; sent when the caller sets none, because the API has no default. */
  maxOutput: number
  /** The limit that is sent instead, where a server counts it against the quota before the answer begins (Bedrock). */
  usualOutput?: number
  /** True for a model that takes `tool_choice` `any` and `tool`. */
  forcedToolChoice: boolean
  /** True for a model whose thinking is bound to the conversation before it: after another one, it is refused. */
  bindsThinking?: true
  /** Anthropic's server tools in a cloud: Vertex has the search, Bedrock none. Default: all. */
  serverTools?: 'webSearch' | 'none'
}

/** The fields that this protocol adds to a profile. */
export const anthropicFields: ProfileFields<AnthropicProfile> = {
  efforts: true,
  budget: true,
  thinkingOff: true,
  sampling: true,
  usualOutput: true,
  forcedToolChoice: true,
  bindsThinking: true,
  serverTools: true,
}

/**
 * The profile of a model by its name, also in the spellings of Bedrock, Vertex and gateways. Other servers may have other
 * vendors' models, which are older than any new Claude.
 */
export const anthropicProfile = (model: string, isOtherServer = false): AnthropicProfile => {
  const unknown = isOtherServer ? otherVendors : anthropicModels.newest
  const facts = knownModel(anthropicModels, model) ?? unknown
  const { efforts, budget, thinkingOff, sampling, maxOutput, forcedToolChoice = true, bindsThinking } = facts
  return {
    ...abilitiesOf(facts, { schemaWithTools: facts !== otherVendors }),
    ...(efforts && { efforts }),
    ...(budget && { budget }),
    thinkingOff,
    sampling,
    maxOutput,
    forcedToolChoice,
    // The same generation loads tools on demand, and takes changes of prompt and tools as messages.
    ...(bindsThinking && { bindsThinking, deferredTools: true, appendsChanges: true }),
  }
}
