import type { ModelProfile } from '../../src/model/chatModel.ts'
import { abilitiesOf, type EffortWord, knownModel, type RefusedSetting } from '../models/modelFacts.ts'
import { openaiModels } from '../models/openai.ts'
import type { ProfileFields } from '../wire/protocol.ts'
import type { IdRule } from '../wire/request.ts'

/** The field that says whether and how much a vendor's models think. */
type ThinkingControl =
  /** `reasoning_effort: 'low'`: OpenAI, Groq, Fireworks, Ollama, xAI. */
  | 'reasoning_effort'
  /** `reasoning: { effort | max_tokens | enabled }`: OpenRouter, Vercel's gateway, Together (`enabled`). */
  | 'reasoning'
  /** `thinking: { type: 'enabled' }`: DeepSeek, Kimi, GLM. */
  | 'thinking'
  /** `thinking: { type: 'adaptive' }`: MiniMax. */
  | 'adaptive'
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
  /** The time at which a tool may be forced: not while the model thinks (DeepSeek, Kimi before K3, Qwen), or never (Z.ai). Default: always. */
  forcedTools?: 'withoutThinking' | 'never'
  /**
   * The field in which the model's reasoning goes back: DeepSeek and Kimi refuse tool calls without it. By default, the
   * reasoning goes back to the model that made it, under the name that the server gave it.
   */
  reasoningReplay?: 'none' | 'reasoning_content' | 'reasoning' | 'reasoning_details'
  /**
   * Splits `<think>…</think>` off an answer that begins with it; `opened` where the chat template has written the opening tag
   * already. Servers without a parser for the model's thinking leave it in the text.
   */
  splitThinkTags?: boolean | 'opened'
  /** OpenAI refuses tool-call ids of more than 40 characters; `any` where a server does not care. */
  toolCallIds?: IdRule | 'any'
  /** A user message right after tool results is refused by Mistral's models on every server. */
  bridgesToolResults?: boolean
  /** OpenRouter fetches PDF links itself; OpenAI takes files only inline. */
  pdfLinks?: boolean
  /**
   * The help for finding a prompt in the server's cache. `key`: `prompt_cache_key` (OpenAI). `markers`: `cache_control`
   * on blocks, which OpenRouter hands on to Anthropic. Left out, nothing is sent: strangers may refuse either.
   */
  promptCache?: 'key' | 'markers'
  /** The vendor whose server tools there are; chat completions themselves have none. */
  serverTools?: 'openrouter' | 'groq'
  /** Images that a model made go back in `images` of its own message (OpenRouter); elsewhere they are left out. */
  replaysImages?: boolean
  /** The values of `input_audio.format` a server takes; OpenAI takes wav and mp3. */
  audioFormats?: readonly string[]
}

/** The fields that this protocol adds to a profile. */
export const chatFields: ProfileFields<OpenAIChatProfile> = {
  rejectsStreamOptions: true,
  maxTokensField: true,
  systemRole: true,
  refuses: true,
  strictSchemas: true,
  thinkingControl: true,
  efforts: true,
  toolsOnlyWithoutThinking: true,
  forcedTools: true,
  reasoningReplay: true,
  splitThinkTags: true,
  toolCallIds: true,
  bridgesToolResults: true,
  pdfLinks: true,
  promptCache: true,
  serverTools: true,
  replaysImages: true,
  audioFormats: true,
}

const openaiCallIds: IdRule = { pattern: /^[\s\S]{1,40}$/, length: 40 }

export const callIdRule = ({ toolCallIds = openaiCallIds }: OpenAIChatProfile): IdRule | undefined =>
  toolCallIds === 'any' ? undefined : toolCallIds

/** The quirks of most servers that speak this protocol without being OpenAI. */
export const compatible = {
  strictSchemas: false,
  maxTokensField: 'max_tokens',
  toolCallIds: 'any',
  // Without a parser for it, thinking is in the text: LM Studio, vLLM, llama.cpp, Groq's Qwen, MiniMax.
  splitThinkTags: true,
} as const

/** A server that speaks OpenAI's chat protocol, and of which no more is known: the base for your own profile. */
export const chatProfile: OpenAIChatProfile = {
  tools: true,
  parallelTools: true,
  nativeSchema: true,
  schemaWithTools: false,
  thinking: true,
  attachments: { images: true, pdf: false, audio: false, links: true },
  ...compatible,
}

/** The profile of OpenAI's models over chat completions. Of other models on another server, only what most servers share. */
export const openaiChatProfile = (model: string, isOtherServer = false): OpenAIChatProfile => {
  const known = knownModel(openaiModels, model)
  if (!known && isOtherServer) return chatProfile
  const { chat, refuses, efforts, ...facts } = known ?? openaiModels.newest
  return {
    ...abilitiesOf({ ...facts, ...(efforts && { efforts }) }, { schemaWithTools: true }),
    ...(refuses && { refuses }),
    ...(efforts && { efforts }),
    ...(chat === 'toolsOnlyWithoutThinking' && { toolsOnlyWithoutThinking: true }),
    ...(isOtherServer
      ? { ...compatible, ...(efforts && { maxTokensField: 'max_completion_tokens' }) }
      : { promptCache: 'key' }),
  }
}
