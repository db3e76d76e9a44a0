import type { ModelProfile } from '../../src/model/chatModel.ts'
import {
  abilitiesOf,
  type EffortWord,
  factsOf,
  type ModelFacts,
  type RefusedSetting,
} from '../models/modelFacts.ts'
import { openaiModels } from '../models/openai.ts'
import type { ProfileFields } from '../wire/protocol.ts'

/** The abilities of a model behind the Responses API, and its quirks. */
export type OpenAIResponsesProfile = ModelProfile & {
  /** The server keeps no responses, so each request carries the whole history (OpenRouter, zero data retention). */
  stateless?: boolean
  /** The system prompt goes in as the first message, because the server refuses `instructions` (xAI). */
  systemAsMessage?: boolean
  /** The settings that the model answers 400 to. */
  refuses?: readonly RefusedSetting[]
  /** The words for effort that the model takes, lowest first; `none` where thinking can be switched off. */
  efforts?: readonly EffortWord[]
  /** `false` asks for no summary of the thinking, which OpenAI gives to verified organisations only. */
  reasoningSummary?: boolean
  /** The outputs of server tools are asked for with `include` (OpenAI); other servers may refuse the words. */
  toolOutputs?: boolean
  /** `prompt_cache_key` is sent (OpenAI); other servers may refuse it. */
  promptCache?: 'key'
  /** `input_file` reads more than PDF: office documents, spreadsheets, source code (OpenAI). */
  anyFile?: boolean
}

/** The fields that this protocol adds to a profile. */
export const responsesFields: ProfileFields<OpenAIResponsesProfile> = {
  stateless: true,
  systemAsMessage: true,
  refuses: true,
  efforts: true,
  reasoningSummary: true,
  toolOutputs: true,
  promptCache: true,
  anyFile: true,
}

/** The profile of OpenAI's models over the Responses API. */
export const openaiResponsesProfile = (model: string, isOtherServer = false): OpenAIResponsesProfile => {
  const facts = factsOf(openaiModels, model)
  return {
    ...responsesProfileOf(facts),
    ...(!isOtherServer && { promptCache: 'key', toolOutputs: true }),
    // The generation that thinks beside tools on this API alone also takes tools in the middle of a conversation.
    ...(!isOtherServer &&
      facts.chat === 'toolsOnlyWithoutThinking' && { deferredTools: true, appendsChanges: true }),
    anyFile: true,
  }
}

/** The profile of any model behind a Responses API. */
export const responsesProfileOf = (facts: ModelFacts): OpenAIResponsesProfile => ({
  ...abilitiesOf(facts, { schemaWithTools: true }),
  ...(facts.refuses && { refuses: facts.refuses }),
  ...(facts.efforts && { efforts: facts.efforts }),
})

/** True where chat completions refuse what the model is for: tools while it thinks, or the model itself. */
export const needsResponses = (model: string): boolean => factsOf(openaiModels, model).chat !== undefined
