import type { ModelProfile } from '../../src/model/chatModel.ts'

/** What a model of Ollama can do, and its quirks. */
export type OllamaProfile = ModelProfile & {
  /** Keeps a tool-calling turn's thinking out of the next request; Ollama's own loop sends it along. */
  forgetThinking?: boolean
}
