import type { ProviderPreset } from './defineProvider.ts'
import { type EnvironmentServer, serverIn } from './http/connectionOf.ts'
import { fireworksModels, groqModels, nvidiaModels, togetherModels } from './models/hosts.ts'
import { deepseekModels, openWeightModels } from './models/openWeights.ts'
import { perplexityModels, xaiModels } from './models/vendors.ts'
import { ollamaProfile, ollamaServer } from './ollama/index.ts'
import { compatibleProfile, gatewayProfile, hostedProfile } from './openai-chat/hosted.ts'
import type { OpenAIChatProfile } from './openai-chat/index.ts'

/** A host of chat completions: its place, its key, and the quirks of its models. */
type ChatHost = Omit<ProviderPreset<OpenAIChatProfile>, 'protocol' | 'profile' | 'recover' | 'embeddings'> & {
  profile: (model: string) => OpenAIChatProfile
  /** True for an address that any server may have: only the provider's name says which one it is. */
  isAnyServer?: true
}

const models = { models: { path: '/models' } }

/** The models of a local server are not known here. */
const ownModels = { defaultModel: '', ...models }

const openWeights = (quirks: Partial<OpenAIChatProfile> = {}) => hostedProfile(openWeightModels, quirks)

/** JSON without a schema is all that these promise: typed answers come through a tool. */
const withoutSchema = { nativeSchema: false } as const

/** Kimi before K3. */
const switched = { thinkingControl: 'thinking', efforts: [], forcedTools: 'withoutThinking' } as const

const withoutLinks = (profile: OpenAIChatProfile): OpenAIChatProfile => ({
  ...profile,
  attachments: { ...profile.attachments, links: false },
})

/** A gateway, which translates every setting for the vendor behind it. */
const gateway = (model: string): OpenAIChatProfile => ({
  ...gatewayProfile(model),
  strictSchemas: false,
  maxTokensField: 'max_tokens',
  toolCallIds: 'any',
  thinkingControl: 'reasoning',
  efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
  reasoningReplay: 'reasoning_details',
})

const accountServer: EnvironmentServer = {
  variables: ['CLOUDFLARE_ACCOUNT_ID'],
  url(read) {
    const account = read('CLOUDFLARE_ACCOUNT_ID')
    return account && `https://api.cloudflare.com/client/v4/accounts/${encodeURIComponent(account)}/ai/v1`
  },
}

/** The hosts of chat completions that have a name here. */
export const chatHosts: readonly ChatHost[] = [
  {
    name: 'openrouter',
    server: serverIn('OPENROUTER_BASE_URL'),
    baseUrl: 'https://openrouter.ai/api/v1',
    keyVariable: 'OPENROUTER_API_KEY',
    defaultModel: 'openai/gpt-6-luna',
    profile: (model) => ({
      ...gateway(model),
      pdfLinks: true,
      replaysImages: true,
      serverTools: 'openrouter',
      // Claude caches nothing that is not marked.
      ...(model.includes('claude') && { promptCache: 'markers' }),
    }),
    ...models,
  },
  {
    name: 'groq',
    server: serverIn('GROQ_BASE_URL', '/openai/v1'),
    baseUrl: 'https://api.groq.com/openai/v1',
    keyVariable: 'GROQ_API_KEY',
    defaultModel: 'openai/gpt-oss-120b',
    // Groq streams no schema-bound answers.
    profile: hostedProfile(groqModels, { ...withoutSchema, maxTokensField: 'max_completion_tokens' }),
    ...models,
  },
  {
    name: 'together',
    server: serverIn('TOGETHER_BASE_URL'),
    baseUrl: 'https://api.together.xyz/v1',
    hosts: /(^|\.)together\.(xyz|ai)$/,
    keyVariable: 'TOGETHER_API_KEY',
    defaultModel: 'openai/gpt-oss-120b',
    profile: hostedProfile(togetherModels),
    ...models,
  },
  {
    name: 'fireworks',
    server: serverIn('FIREWORKS_BASE_URL'),
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    keyVariable: 'FIREWORKS_API_KEY',
    defaultModel: 'accounts/fireworks/models/gpt-oss-120b',
    profile: hostedProfile(fireworksModels),
    ...models,
  },
  {
    name: 'nvidia',
    server: serverIn('NVIDIA_BASE_URL'),
    baseUrl: 'https://integrate.api.nvidia.com/v1',
    keyVariable: 'NVIDIA_API_KEY',
    defaultModel: 'nvidia/nemotron-3-ultra-550b-a55b',
    // Whether a NIM container knows JSON Schema depends on its engine.
    profile: hostedProfile(nvidiaModels, withoutSchema),
    ...models,
  },
  {
    name: 'deepseek',
    server: serverIn('DEEPSEEK_BASE_URL'),
    baseUrl: 'https://api.deepseek.com',
    keyVariable: 'DEEPSEEK_API_KEY',
    defaultModel: 'deepseek-flash',
    profile: hostedProfile(deepseekModels, {
      ...withoutSchema,
      thinkingControl: 'thinking',
      forcedTools: 'withoutThinking',
    }),
    ...models,
  },
  {
    name: 'moonshot',
    aliases: ['kimi', 'moonshotai'],
    server: serverIn('MOONSHOT_BASE_URL'),
    baseUrl: 'https://api.moonshot.ai/v1',
    hosts: /(^|\.)moonshot\.(ai|cn)$/,
    keyVariable: 'MOONSHOT_API_KEY',
    defaultModel: 'kimi-k3',
    // Kimi K3 takes an effort, and cannot stop; the models before it have a switch, and refuse an effort beside it.
    profile: (model) => openWeights({ ...withoutSchema, ...(!/k3|latest/i.test(model) && switched) })(model),
    ...models,
  },
  {
    name: 'zai',
    aliases: ['z.ai', 'glm'],
    server: serverIn('ZAI_BASE_URL'),
    baseUrl: 'https://api.z.ai/api/paas/v4',
    hosts: /(^|\.)(z\.ai|bigmodel\.cn)$/,
    keyVariable: 'ZAI_API_KEY',
    defaultModel: 'glm-5.3',
    // "Tool choice must be auto."
    profile: openWeights({ ...withoutSchema, thinkingControl: 'thinking', forcedTools: 'never' }),
    ...models,
  },
  {
    name: 'alibaba',
    aliases: ['qwen', 'dashscope'],
    server: serverIn('DASHSCOPE_BASE_URL'),
    baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    hosts: /^dashscope[a-z-]*\.aliyuncs\.com$|\.maas\.aliyuncs\.com$/,
    keyVariable: 'DASHSCOPE_API_KEY',
    defaultModel: 'qwen3.8-max',
    profile: openWeights({
      ...withoutSchema,
      thinkingControl: 'enable_thinking',
      forcedTools: 'withoutThinking',
    }),
    ...models,
  },
  {
    name: 'minimax',
    server: serverIn('MINIMAX_BASE_URL'),
    baseUrl: 'https://api.minimax.io/v1',
    hosts: /(^|\.)(minimax\.io|minimaxi\.com)$/,
    keyVariable: 'MINIMAX_API_KEY',
    defaultModel: 'MiniMax-M3',
    // https://platform.minimax.io/docs/guides/text-generation, 2026-11-19: M3 has a million here, more than on other hosts.
    profile: (model) =>
      openWeights({
        ...withoutSchema,
        maxTokensField: 'max_completion_tokens',
        thinkingControl: 'adaptive',
        refuses: ['seed', 'parallelToolCalls'],
        ...(/^minimax-m3$/i.test(model) && { window: 1_000_000 }),
      })(model),
    ...models,
  },
  {
    name: 'cerebras',
    server: serverIn('CEREBRAS_BASE_URL'),
    baseUrl: 'https://api.cerebras.ai/v1',
    keyVariable: 'CEREBRAS_API_KEY',
    defaultModel: 'gpt-oss-120b',
    profile: openWeights({ maxTokensField: 'max_completion_tokens' }),
    ...models,
  },
  {
    name: 'huggingface',
    aliases: ['hf'],
    server: serverIn('HF_BASE_URL'),
    baseUrl: 'https://router.huggingface.co/v1',
    keyVariable: 'HF_TOKEN',
    defaultModel: 'openai/gpt-oss-120b',
    profile: openWeights(),
    ...models,
  },
  {
    name: 'vercel',
    aliases: ['vercel-ai-gateway'],
    server: serverIn('AI_GATEWAY_BASE_URL'),
    baseUrl: 'https://ai-gateway.vercel.sh/v1',
    keyVariable: 'AI_GATEWAY_API_KEY',
    defaultModel: 'openai/gpt-6-luna',
    profile: gateway,
    ...models,
  },
  {
    name: 'cloudflare',
    aliases: ['workers-ai'],
    server: accountServer,
    baseUrl: 'https://api.cloudflare.com/client/v4/accounts/{account}/ai/v1',
    keyVariable: 'CLOUDFLARE_API_TOKEN',
    defaultModel: '@cf/openai/gpt-oss-120b',
    profile: openWeights(),
  },
  {
    name: 'deepinfra',
    server: serverIn('DEEPINFRA_BASE_URL'),
    baseUrl: 'https://api.deepinfra.com/v1/openai',
    keyVariable: 'DEEPINFRA_API_KEY',
    defaultModel: 'openai/gpt-oss-120b',
    profile: openWeights(),
    ...models,
  },
  {
    name: 'sambanova',
    server: serverIn('SAMBANOVA_BASE_URL'),
    baseUrl: 'https://api.sambanova.ai/v1',
    keyVariable: 'SAMBANOVA_API_KEY',
    defaultModel: 'gpt-oss-120b',
    profile: openWeights(withoutSchema),
    ...models,
  },
  {
    name: 'github',
    aliases: ['github-models'],
    server: serverIn('GITHUB_MODELS_BASE_URL'),
    baseUrl: 'https://models.github.ai/inference',
    keyVariable: 'GITHUB_TOKEN',
    defaultModel: 'openai/gpt-4.1',
    // Announced by GitHub; servers of companies may be there longer.
    profile: (model) => ({
      ...compatibleProfile(model),
      deprecated: 'is on GitHub Models, whose end was announced for 30 July 2026: use another provider.',
    }),
  },
  {
    name: 'ollama-openai',
    server: ollamaServer('/v1'),
    baseUrl: 'http://localhost:11434/v1',
    defaultModel: 'qwen3:8b',
    profile: (model) => ({ ...openWeights()(model), ...ollamaProfile(model) }),
    ...models,
  },
  {
    ...ownModels,
    name: 'lmstudio',
    server: serverIn('LMSTUDIO_BASE_URL'),
    baseUrl: 'http://localhost:1234/v1',
    profile: (model) => withoutLinks(openWeights()(model)),
  },
  {
    ...ownModels,
    name: 'vllm',
    server: serverIn('VLLM_BASE_URL'),
    baseUrl: 'http://localhost:8000/v1',
    profile: openWeights({ thinkingControl: 'chat_template_kwargs' }),
    isAnyServer: true,
  },
  {
    ...ownModels,
    name: 'llamacpp',
    aliases: ['llama.cpp'],
    server: serverIn('LLAMACPP_BASE_URL'),
    baseUrl: 'http://localhost:8080/v1',
    profile: (model) => withoutLinks(openWeights({ thinkingControl: 'chat_template_kwargs' })(model)),
    isAnyServer: true,
  },
]

/** Chat completions of providers that speak Responses by now: only a `baseUrl` leads there. */
const others: readonly Pick<ChatHost, 'baseUrl' | 'profile' | 'hosts' | 'isAnyServer'>[] = [
  {
    baseUrl: 'https://api.x.ai/v1',
    profile: hostedProfile(xaiModels, {
      schemaWithTools: true,
      maxTokensField: 'max_completion_tokens',
      deprecated: 'is asked over chat completions, which xAI has deprecated: use the provider "xai".',
    }),
  },
  {
    baseUrl: 'https://api.perplexity.ai',
    profile: hostedProfile(perplexityModels, {
      deprecated:
        'is asked over chat completions, which Perplexity ended in September 2026: use the provider "perplexity".',
    }),
  },
]

/** The profile of a model on a server, whichever provider its address was given to. */
export const chatProfileAt = (url: string, model: string): OpenAIChatProfile => {
  const host = [...chatHosts, ...others].find((each) => !each.isAnyServer && isAt(each, url))
  return host ? host.profile(model) : compatibleProfile(model)
}

const isAt = ({ baseUrl, hosts }: Pick<ChatHost, 'baseUrl' | 'hosts'>, url: string): boolean => {
  if (!URL.canParse(url) || !URL.canParse(baseUrl)) return false
  const [own, given] = [new URL(baseUrl), new URL(url)]
  const hostname = isLocal.test(given.hostname) ? 'localhost' : given.hostname
  if (hosts?.test(hostname)) return true
  return hostname === own.hostname && given.port === own.port
}

const isLocal = /^(127\.0\.0\.1|\[::1\])$/
