import type { ModelProfile } from '../../src/model/chatModel.ts'
import { factsOfAnyVendor } from '../models/anyVendor.ts'
import { abilitiesOf, factsOf, type HostedFacts, knownModel, type ModelTable } from '../models/modelFacts.ts'
import { openaiModels } from '../models/openai.ts'
import { openWeightModels } from '../models/openWeights.ts'
import { compatible, type OpenAIChatProfile, openaiChatProfile } from './profile.ts'

/** The profile of any model that a compatible server may have: OpenAI's, or one of open weights. */
export const compatibleProfile = (model: string): OpenAIChatProfile =>
  // vLLM and llama.cpp never call a tool in a request that has a schema for the answer.
  knownModel(openaiModels, model) ? openaiChatProfile(model, true) : hostedProfile(openWeightModels)(model)

/** The profile of the models of a host. */
export const hostedProfile =
  (table: ModelTable<HostedFacts>, quirks: Partial<OpenAIChatProfile> = {}) =>
  (model: string): OpenAIChatProfile => {
    const facts = factsOf(table, model)
    const { efforts, thinkingControl, reasoningReplay, refuses, serverTools } = facts
    return {
      ...abilitiesOf(facts),
      ...compatible,
      ...(efforts && { efforts }),
      ...(reasoningReplay && { reasoningReplay }),
      ...(refuses && { refuses }),
      ...(serverTools && { serverTools }),
      ...quirks,
      // The row of a model knows more than that of its host.
      ...(thinkingControl && { thinkingControl }),
    }
  }

/** The profile of a model behind a gateway that translates every setting itself: only what the model reads is its own. */
export const gatewayProfile = (model: string): ModelProfile => {
  const { attachments, thinking, ...abilities } = abilitiesOf(factsOfAnyVendor(model))
  // The gateway reads documents and sends their text, for every model.
  return {
    ...abilities,
    tools: true,
    nativeSchema: true,
    thinking,
    attachments: { ...attachments, pdf: true },
  }
}
