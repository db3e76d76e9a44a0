import type { ModelProfile } from '../../src/model/chatModel.ts'
import { abilitiesOf } from '../models/abilities.ts'
import { anthropicModels } from '../models/anthropic.ts'
import { cohereModels } from '../models/cohere.ts'
import { googleModels } from '../models/google.ts'
import type { HostedFacts } from '../models/hosts.ts'
import { mistralModels } from '../models/mistral.ts'
import { factsOf, knownModel, type ModelTable } from '../models/modelFacts.ts'
import { openaiModels } from '../models/openai.ts'
import { openWeightModels } from '../models/openWeights.ts'
import { deepseekModels, xaiModels } from '../models/vendors.ts'
import type { OpenAIChatProfile } from './profile.ts'

/** What most servers have in common that speak this protocol without being OpenAI. */
const compatible = { strictSchemas: false, maxTokensField: 'max_tokens', toolCallIds: 'any' } as const

/** The profile of OpenAI's models over chat completions, and of any other model that a compatible server may have. */
export const openaiChatProfile = (model: string, isOtherServer = false): OpenAIChatProfile => {
  const known = knownModel(openaiModels, model)
  if (!known && isOtherServer) return { ...hostedProfile(openWeightModels)(model), schemaWithTools: true }
  const { chat, refuses, efforts, ...facts } = known ?? openaiModels.newest
  return {
    ...abilitiesOf({ ...facts, ...(efforts && { efforts }) }, { schemaWithTools: true }),
    ...(refuses && { refuses }),
    ...(efforts && { efforts }),
    ...(chat === 'toolsOnlyWithoutThinking' && { toolsOnlyWithoutThinking: true }),
    ...(isOtherServer
      ? { ...compatible, ...(efforts && { maxTokensField: 'max_completion_tokens' }) }
      : { promptCache: 'key' }),
  }
}

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
      ...(thinkingControl && { thinkingControl }),
      ...(reasoningReplay && { reasoningReplay }),
      ...(refuses && { refuses }),
      ...(serverTools && { serverTools }),
      ...quirks,
    }
  }

/** Models of any vendor, for gateways. */
const anyVendor = [
  openWeightModels,
  openaiModels,
  anthropicModels,
  googleModels,
  mistralModels,
  cohereModels,
  deepseekModels,
  xaiModels,
]

/** The profile of a model behind a gateway that translates every setting itself: only what the model reads is its own. */
export const gatewayProfile = (model: string): ModelProfile => {
  const facts = anyVendor.map((table) => knownModel(table, model)).find((row) => row !== undefined)
  const { attachments, thinking, ...abilities } = abilitiesOf(facts ?? openWeightModels.newest)
  // The gateway reads documents and sends their text, for every model.
  return {
    ...abilities,
    tools: true,
    nativeSchema: true,
    thinking,
    attachments: { ...attachments, pdf: true },
  }
}
