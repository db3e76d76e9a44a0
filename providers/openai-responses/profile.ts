import type { ModelProfile } from '../../src/model/chatModel.ts'
import type { EffortWord, RefusedSetting } from '../models/modelFacts.ts'

/** What a model behind the Responses API can do, and its quirks. */
export type OpenAIResponsesProfile = ModelProfile & {
  /** The server keeps no responses, so each request carries the whole history (OpenRouter, zero data retention). */
  stateless?: boolean
  /** The system prompt goes in as the first message, because the server refuses `instructions` (xAI). */
  systemAsMessage?: boolean
  /** What the model answers 400 to. */
  refuses?: readonly RefusedSetting[]
  /** The words for effort that the model takes, lowest first; `none` where thinking can be switched off. */
  efforts?: readonly EffortWord[]
  /** `false` asks for no summary of the thinking, which OpenAI gives to verified organisations only. */
  reasoningSummary?: boolean
  /** `prompt_cache_key` is sent (OpenAI); other servers may refuse it. */
  promptCache?: 'key'
  /** `input_file` reads more than PDF: office documents, spreadsheets, source code (OpenAI). */
  anyFile?: boolean
}
