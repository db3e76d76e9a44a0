import type { ModelProfile } from '../../src/model/chatModel.ts'
import { abilitiesOf, factsOf } from '../models/modelFacts.ts'
import { cohereModels } from '../models/vendors.ts'
import type { ProfileFields } from '../wire/protocol.ts'

/** The abilities of a model of Cohere, and its quirks. */
export type CohereProfile = ModelProfile & {
  /** Keeps a tool-calling turn's thinking out of the next request; Cohere's own loop sends it along. */
  forgetThinking?: boolean
}

/** The fields that this protocol adds to a profile. */
export const cohereFields: ProfileFields<CohereProfile> = {
  forgetThinking: true,
}

/** The profile of a model of Cohere by its name. */
export const cohereProfile = (model: string): CohereProfile => abilitiesOf(factsOf(cohereModels, model))
