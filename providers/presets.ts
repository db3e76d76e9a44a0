import { chatHosts, chatProfileAt } from './chatHosts.ts'
import { byModel, type OpenAIHost, overChat, overResponses } from './clouds/bothProtocols.ts'
import { defineProvider, type ProviderPreset, providerWithWire } from './defineProvider.ts'
import {
  cohereEmbeddings,
  fireworksEmbeddings,
  googleEmbeddings,
  mistralEmbeddings,
  nvidiaEmbeddings,
  ollamaEmbeddings,
  ollamaOpenaiEmbeddings,
  openaiEmbeddings,
  openrouterEmbeddings,
  togetherEmbeddings,
  vertexEmbeddings,
} from './embeddings/protocols.ts'
import { googleMedia, openaiMedia, xaiMedia } from './files/media.ts'
import { anthropicFiles, googleFiles, openaiFiles } from './files/protocols.ts'
import { openaiChat, openaiChatProfile } from './openai-chat/index.ts'
import type { Provider } from './provider.ts'
import { anthropic } from './values/anthropic.ts'
import { azure } from './values/azure.ts'
import { bedrock } from './values/bedrock.ts'
import { cohere } from './values/cohere.ts'
import { compatible } from './values/compatible.ts'
import { google } from './values/google.ts'
import { mistral } from './values/mistral.ts'
import { ollama } from './values/ollama.ts'
import { openai } from './values/openai.ts'
import { perplexity } from './values/perplexity.ts'
import { vertex } from './values/vertex.ts'
import { xai } from './values/xai.ts'

/** The parts of a provider beside its chat models. */
type Beside = Pick<ProviderPreset<never>, 'embeddings' | 'media' | 'files' | 'models'>

/** A host of OpenAI's models under three names: by what the model needs, over Responses, over chat completions. */
const overBothProtocols = (host: OpenAIHost, beside: Beside): Provider[] => {
  const responses = (name: string) => providerWithWire({ ...overResponses(host), ...beside, name })
  const chat = (name: string) =>
    providerWithWire({ ...overChat(host), ...beside, name, profile: chatProfile })
  const own = responses(host.name)
  return [
    { ...own, chatModel: byModel(host, chat(host.name).chatModel, own.chatModel) },
    responses(`${host.name}-responses`),
    chat(`${host.name}-chat`),
  ]
}

/** The registry knows the quirks of other servers by their addresses. */
const chatProfile = (model: string, isOtherServer: boolean, url: string) =>
  isOtherServer ? chatProfileAt(url, model) : openaiChatProfile(model)

const models = { models: { path: '/models' } }
const anyEmbeddings = { protocol: openaiEmbeddings, defaultModel: '' }

/** The embeddings of the hosts that have them, by name. The models of a local server are not known here. */
const hostEmbeddings: Readonly<Record<string, Beside['embeddings']>> = {
  openrouter: { protocol: openrouterEmbeddings, defaultModel: 'openai/text-embedding-3-small' },
  together: { protocol: togetherEmbeddings, defaultModel: 'intfloat/multilingual-e5-large-instruct' },
  fireworks: { protocol: fireworksEmbeddings, defaultModel: 'nomic-ai/nomic-embed-text-v1.5' },
  nvidia: { protocol: nvidiaEmbeddings, defaultModel: 'nvidia/nv-embedqa-e5-v5' },
  vercel: { protocol: openrouterEmbeddings, defaultModel: 'openai/text-embedding-3-small' },
  deepinfra: { protocol: openaiEmbeddings, defaultModel: 'BAAI/bge-m3' },
  'ollama-openai': { protocol: ollamaOpenaiEmbeddings, defaultModel: 'nomic-embed-text' },
  lmstudio: anyEmbeddings,
  vllm: anyEmbeddings,
  llamacpp: anyEmbeddings,
}

/** The providers that statewire knows by name. */
export const presets: readonly Provider[] = [
  ...overBothProtocols(openai.preset, {
    media: { protocol: openaiMedia, defaultModel: 'gpt-image-2' },
    files: openaiFiles,
    embeddings: { protocol: openaiEmbeddings, defaultModel: 'text-embedding-3-small' },
    ...models,
  }),
  defineProvider({
    ...anthropic.preset,
    aliases: ['claude'],
    files: anthropicFiles,
    models: { path: '/models?limit=1000' },
  }),
  defineProvider({
    ...google.preset,
    aliases: ['gemini'],
    media: { protocol: googleMedia, defaultModel: 'gemini-3.1-flash-image' },
    files: googleFiles,
    embeddings: { protocol: googleEmbeddings, defaultModel: 'gemini-embedding-001' },
    models: { path: '/models?pageSize=1000' },
  }),
  defineProvider({
    ...ollama.preset,
    embeddings: { protocol: ollamaEmbeddings, defaultModel: 'nomic-embed-text' },
    models: { path: '/tags' },
  }),
  defineProvider({
    ...mistral.preset,
    embeddings: { protocol: mistralEmbeddings, defaultModel: 'mistral-embed' },
    ...models,
  }),
  defineProvider({
    ...cohere.preset,
    embeddings: { protocol: cohereEmbeddings, defaultModel: 'embed-v4.0' },
    models: {
      path: '/models?page_size=1000',
      baseUrl: (url) => url.replace('.cohere.com/v2', '.cohere.com/v1'),
    },
  }),
  defineProvider({
    ...xai.preset,
    aliases: ['grok'],
    media: { protocol: xaiMedia, defaultModel: 'grok-imagine-image' },
    ...models,
  }),
  defineProvider({ ...perplexity.preset, ...models }),
  ...chatHosts.map((host) => {
    const embeddings = hostEmbeddings[host.name]
    return defineProvider({ ...host, ...(embeddings && { embeddings }), protocol: openaiChat })
  }),
  defineProvider({
    ...compatible.preset,
    embeddings: anyEmbeddings,
    ...models,
  }),
  ...overBothProtocols(azure.preset, { embeddings: anyEmbeddings, ...models }),
  {
    ...defineProvider({
      ...vertex.preset,
      embeddings: { protocol: vertexEmbeddings, defaultModel: 'gemini-embedding-001' },
    }),
    chatModel: vertex,
  },
  {
    ...providerWithWire({
      ...bedrock.preset,
      // The list is on another host than the models.
      models: {
        path: '/foundation-models?byOutputModality=TEXT',
        baseUrl: (url) => url.replace('bedrock-runtime', 'bedrock'),
      },
    }),
    chatModel: bedrock,
  },
]
