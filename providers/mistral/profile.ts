import type { ModelProfile } from '../../src/model/chatModel.ts'
import { mistralModels } from '../models/mistral.ts'
import { abilitiesOf, type EffortWord, factsOf } from '../models/modelFacts.ts'
import type { ProfileFields } from '../wire/protocol.ts'
import type { IdRule } from '../wire/request.ts'

/** The abilities of a model of Mistral, and its quirks. */
export type MistralProfile = ModelProfile & {
  /** The first Magistral models think by their own system prompt (`prompt_mode`), all others by `reasoning_effort`. */
  thinkingControl?: 'reasoning_effort' | 'prompt_mode'
  /** The words for effort that the model takes, lowest first; `none` where thinking can be switched off. */
  efforts?: readonly EffortWord[]
}

/** The fields that this protocol adds to a profile. */
export const mistralFields: ProfileFields<MistralProfile> = {
  thinkingControl: true,
  efforts: true,
}

/** The profile of a model of Mistral by its name. */
export const mistralProfile = (model: string): MistralProfile => {
  const facts = factsOf(mistralModels, model)
  const { efforts, promptMode } = facts
  return {
    ...abilitiesOf(facts),
    ...(efforts && { efforts }),
    ...(promptMode && { thinkingControl: 'prompt_mode' }),
  }
}

/** Mistral refuses every other id, unless a model of another vendor that it hosts made it. */
export const mistralCallIds: IdRule = { pattern: /^[a-zA-Z0-9]{9}$/, length: 9 }
