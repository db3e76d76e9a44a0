import type { ModelProfile } from '../../src/model/chatModel.ts'
import { factsOfAnyVendor } from '../models/anyVendor.ts'
import { bedrockModels, type ConverseFacts } from '../models/bedrock.ts'
import { abilitiesOf, type EffortWord, knownModel, type RefusedSetting } from '../models/modelFacts.ts'
import type { ProfileFields } from '../wire/protocol.ts'
import type { IdRule } from '../wire/request.ts'

/** The abilities of a model over Converse, and its quirks. */
export type ConverseProfile = ModelProfile & {
  /** The field for its thinking: gpt-oss, OpenAI's other models, Nova. Others cannot be asked to think, or not to. */
  thinkingControl?: 'reasoning_effort' | 'reasoning' | 'reasoningConfig'
  /** The words for effort that the model takes, lowest first; `none` where thinking can be switched off. */
  efforts?: readonly EffortWord[]
  refuses?: readonly RefusedSetting[]
  /** Tool results may hold images and documents, and say that the tool failed: Nova. Others answer 400. */
  richResults?: boolean
  /** The tools that Amazon runs itself are Nova's. */
  serverTools?: 'nova'
  /** Cache points are taken: Nova. Others answer 400, and some of them cache by themselves. */
  promptCache?: 'points'
  /** The tool-call ids that the model takes. Default: letters, digits, `_` and `-`, 64 of them. */
  toolCallIds?: IdRule
}

/** The fields that this protocol adds to a profile. */
export const converseFields: ProfileFields<ConverseProfile> = {
  thinkingControl: true,
  efforts: true,
  refuses: true,
  richResults: true,
  serverTools: true,
  promptCache: true,
  toolCallIds: true,
}

/** The profile of a model by its name, with or without a vendor or a region before it. */
export const converseProfile = (model: string): ConverseProfile => {
  const facts: ConverseFacts = knownModel(bedrockModels, model) ?? ofVendor(model)
  const { thinkingControl, efforts, refuses, isNova } = facts
  const abilities = abilitiesOf(facts)
  return {
    ...abilities,
    attachments: { ...abilities.attachments, links: false },
    ...(thinkingControl && { thinkingControl }),
    ...(thinkingControl && efforts && { efforts }),
    ...(refuses && { refuses }),
    ...(isNova && { richResults: true, serverTools: 'nova', promptCache: 'points' }),
    ...(isOf('mistral', model) && { toolCallIds: { pattern: /^[a-zA-Z0-9]{9}$/, length: 9 } }),
  }
}

/** The vendor's facts; documents are read by models that Bedrock names for it only. */
const ofVendor = (model: string): ConverseFacts => {
  const { reads = [], ...facts } = factsOfAnyVendor(model)
  return {
    ...facts,
    reads: reads.filter((medium) => medium === 'images'),
    ...(isOf('openai', model) && { thinkingControl: 'reasoning' }),
  }
}

const isOf = (vendor: string, model: string): boolean => model.split(/[./:]/).includes(vendor)
