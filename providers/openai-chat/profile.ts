import type { ModelProfile } from '../../src/model/chatModel.ts'
import type { EffortWord, RefusedSetting } from '../models/modelFacts.ts'
import type { IdRule } from '../wire/conversation.ts'

export type { RefusedSetting } from '../models/modelFacts.ts'

/** How a vendor's models are asked whether and how much to think. */
export type ThinkingControl =
  /** `reasoning_effort: 'low'`: OpenAI, Groq, Fireworks, Ollama, xAI. */
  | 'reasoning_effort'
  /** `reasoning: { effort | max_tokens | enabled }`: OpenRouter, Vercel's gateway, Together (`enabled`). */
  | 'reasoning'
  /** `thinking: { type: 'enabled' }`: DeepSeek, Kimi, GLM. */
  | 'thinking'
  /** `enable_thinking: true`: Qwen on Alibaba. */
  | 'enable_thinking'
  /** `chat_template_kwargs: { enable_thinking: true }`: vLLM, SGLang, llama.cpp, NVIDIA NIM. */
  | 'chat_template_kwargs'
/** The quirks of an OpenAI-compatible server. Without any of them it is taken to be OpenAI. */
export type OpenAIChatProfile = ModelProfile & {
  /** Older gateways answer 400 to `stream_options`; usage is then only what the server volunteers. */
  rejectsStreamOptions?: boolean
  /** OpenAI deprecated `max_tokens`; most other servers have nothing else. */
  maxTokensField?: 'max_completion_tokens' | 'max_tokens'
  /** OpenAI's newer name for the system role; others have only `system`. */
  systemRole?: 'system' | 'developer'
  /** o-series and gpt-5 refuse sampling settings, some servers refuse `seed`. */
  refuses?: readonly RefusedSetting[]
  /** `false` for servers other than OpenAI: no `strict`, and schemas that hold only what all such servers take. */
  strictSchemas?: boolean
  thinkingControl?: ThinkingControl
  /** The words for effort that the model takes, lowest first; `none` where thinking can be switched off. */
  efforts?: readonly EffortWord[]
  /** Function tools are refused while the model thinks: OpenAI's models since gpt-5.4. */
  toolsOnlyWithoutThinking?: boolean
  /**
   * What goes back of the model's reasoning, and under which name: DeepSeek and Kimi refuse tool calls without. By
   * default, what the server sent goes back to the model that made it, under the same name.
   */
  reasoningReplay?: 'none' | 'reasoning_content' | 'reasoning' | 'reasoning_details'
  /** Splits `<think>` out of the text; `opened` where the chat template has written the opening tag already. */
  splitThinkTags?: boolean | 'opened'
  /** OpenAI refuses tool-call ids of more than 40 characters; `any` where a server does not care. */
  toolCallIds?: IdRule | 'any'
  /** A user message right after tool results is refused by Mistral's models on every server. */
  bridgesToolResults?: boolean
  /** OpenRouter fetches PDF links itself; OpenAI takes files only inline. */
  pdfLinks?: boolean
  /**
   * How the server is helped to find a prompt in its cache. `key`: `prompt_cache_key` (OpenAI). `markers`: `cache_control`
   * on blocks, which OpenRouter hands on to Anthropic. Left out, nothing is sent: strangers may refuse either.
   */
  promptCache?: 'key' | 'markers'
  /** Whose server tools there are; chat completions themselves have none. */
  serverTools?: 'openrouter' | 'groq'
  /** The values of `input_audio.format` a server takes; OpenAI takes wav and mp3. */
  audioFormats?: readonly string[]
}

const openaiCallIds: IdRule = { pattern: /^[\s\S]{1,40}$/, length: 40 }

export const callIdRule = ({ toolCallIds = openaiCallIds }: OpenAIChatProfile): IdRule | undefined =>
  toolCallIds === 'any' ? undefined : toolCallIds

/** A server that speaks OpenAI's chat protocol, and of which no more is known: the base for your own profile. */
export const chatProfile: OpenAIChatProfile = {
  tools: true,
  parallelTools: true,
  nativeSchema: true,
  schemaWithTools: false,
  thinking: true,
  attachments: { images: true, pdf: false, audio: false, links: true },
  strictSchemas: false,
  maxTokensField: 'max_tokens',
  toolCallIds: 'any',
}
