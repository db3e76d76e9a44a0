import type { ModelProfile } from '../../src/model/chatModel.ts'

/** What a model of Cohere can do, and its quirks. */
export type CohereProfile = ModelProfile & {
  /** Keeps a tool-calling turn's thinking out of the next request; Cohere's own loop sends it along. */
  forgetThinking?: boolean
}
