import type { ModelProfile } from '../../src/chatModel.ts'

export type CohereProfile = ModelProfile & {
  /** Keeps a tool-calling turn's thinking out of the next request; Cohere's own loop sends it along. */
  forgetThinking?: boolean
}
