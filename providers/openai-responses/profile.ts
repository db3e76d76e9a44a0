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
  /** `prompt_cache_key` is not sent: a server that is not OpenAI's may refuse it. */
  refusesCacheKey?: boolean
  /** `input_file` reads more than PDF: office documents, spreadsheets, source code (OpenAI). */
  anyFile?: boolean
}
