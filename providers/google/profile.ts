import type { ModelProfile } from '../../src/model/chatModel.ts'
import { googleModels } from '../models/google.ts'
import { abilitiesOf, type EffortWord, factsOf } from '../models/modelFacts.ts'
import type { ProfileFields } from '../wire/protocol.ts'

/** The differences between the models behind the same Gemini wire. */
export type GoogleProfile = ModelProfile & {
  /** The levels of thinking that the model takes, lowest first: Gemini 3. */
  efforts?: readonly EffortWord[]
  /** The tokens that thinking may take, and whether it can be switched off: Gemini 2.5. */
  budget?: { min: number; max: number; canStop: boolean }
  /** Gemini 3 wants the id of a function call back on the call and its response; Gemini 2 rejects the field. */
  echoesCallIds: boolean
  /** Gemini 3 answers 400 to a function call of the current turn whose step carries no thought signature. */
  demandsSignatures: boolean
  /** Gemini 3 takes images and PDFs inside a function response; Gemini 2 rejects the field, so they follow it. */
  mediaInResults?: boolean
  /**
   * Server tools beside function declarations: Gemini 2 refuses them, Gemini 3 wants them `announced` with
   * `includeServerSideToolInvocations`, a field that Vertex does not know (`silent`).
   */
  mixedTools?: 'announced' | 'silent'
  /** False for Vertex, which has no file search stores. */
  fileSearch?: false
  /** Gemma refuses `systemInstruction`: the text goes before the first message. */
  systemAsText?: boolean
}

/** The fields that this protocol adds to a profile. */
export const googleFields: ProfileFields<GoogleProfile> = {
  efforts: true,
  budget: true,
  echoesCallIds: true,
  demandsSignatures: true,
  mediaInResults: true,
  mixedTools: true,
  fileSearch: true,
  systemAsText: true,
}

/** The profile of a Gemini or Gemma model by its name. */
export const geminiProfile = (model: string): GoogleProfile => {
  const facts = factsOf(googleModels, model)
  const { efforts, budget, systemAsText, before3 = false } = facts
  return {
    // Gemini 2 refuses a JSON answer and function declarations in the same request.
    ...abilitiesOf(facts, { schemaWithTools: !before3 }),
    ...(efforts && { efforts }),
    ...(budget && { budget }),
    ...(systemAsText && { systemAsText }),
    echoesCallIds: !before3,
    demandsSignatures: !before3,
    ...(!before3 && { mediaInResults: true, mixedTools: 'announced' }),
  }
}
