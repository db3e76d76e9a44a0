import type { ModelProfile } from '../../src/model/chatModel.ts'
import { abilitiesOf, type EffortWord, factsOf } from '../models/modelFacts.ts'
import { openWeightModels } from '../models/openWeights.ts'
import type { ProfileFields } from '../wire/protocol.ts'

/** The abilities of a model of Ollama, and its quirks. */
export type OllamaProfile = ModelProfile & {
  /** The context that the server loads the model with, in tokens. Default: the server's, which is 4096 unless it was set. */
  numCtx?: number
  /** Keeps a tool-calling turn's thinking out of the next request; Ollama's own loop sends it along. */
  forgetThinking?: boolean
  /** The words for effort that the model takes, lowest first; `none` where thinking can be switched off. */
  efforts?: readonly EffortWord[]
}

/** The fields that this protocol adds to a profile. */
export const ollamaFields: ProfileFields<OllamaProfile> = {
  numCtx: true,
  forgetThinking: true,
  efforts: true,
}

/** The profile of a model by its name. Ollama reads images only, and fetches nothing. */
export const ollamaProfile = (model: string): OllamaProfile => {
  const facts = factsOf(openWeightModels, model)
  const { efforts } = facts
  const abilities = abilitiesOf(facts)
  const { images } = abilities.attachments
  return {
    ...abilities,
    ...(efforts && { efforts }),
    attachments: { images, pdf: false, audio: false, links: false },
  }
}
