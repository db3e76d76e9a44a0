import type { ModelProfile } from '../../src/model/chatModel.ts'
import type { IdRule } from '../conversation.ts'

/** What a model of Mistral can do, and its quirks. */
export type MistralProfile = ModelProfile & {
  /** Magistral thinks by a system prompt of its own (`prompt_mode`), all others by `reasoning_effort`. */
  thinkingControl?: 'reasoning_effort' | 'prompt_mode'
  /** The model knows more efforts than `high` and `none`. */
  gradedEffort?: boolean
}

/** Mistral refuses every other id, unless a model it hosts for somebody else made it. */
export const mistralCallIds: IdRule = { pattern: /^[a-zA-Z0-9]{9}$/, length: 9 }
