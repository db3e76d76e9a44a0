import type { ModelProfile } from '../../src/model/chatModel.ts'

/** What a model behind the Responses API can do, and its quirks. */
export type OpenAIResponsesProfile = ModelProfile & {
  /** The server keeps no responses, so each request carries the whole history (OpenRouter, zero data retention). */
  stateless?: boolean
  /** The system prompt goes in as the first message, because the server refuses `instructions` (xAI). */
  systemAsMessage?: boolean
  /** The model refuses `temperature` and `top_p` (OpenAI's o-series and gpt-5). */
  fixedSampling?: boolean
  /** What `thinking: false` is called: `none` since gpt-5.1, `minimal` for gpt-5, `low` for the o-series. */
  lowestEffort?: 'none' | 'minimal' | 'low'
  /** `prompt_cache_key` is sent (OpenAI); a server of somebody else may refuse it. */
  promptCache?: 'key'
  /** `input_file` reads more than PDF: office documents, spreadsheets, source code (OpenAI). */
  anyFile?: boolean
}
