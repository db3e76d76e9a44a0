import { anthropic, anthropicHeaders, anthropicProfile } from './anthropic/index.ts'
import { chatHosts, chatProfileAt } from './chatHosts.ts'
import { bedrock } from './clouds/bedrock.ts'
import { azure, openai, perplexity, xai } from './clouds/openai.ts'
import { vertex } from './clouds/vertex.ts'
import { cohere, cohereProfile } from './cohere/index.ts'
import { defineProvider } from './defineProvider.ts'
import {
  cohereEmbeddings,
  googleEmbeddings,
  mistralEmbeddings,
  ollamaEmbeddings,
  openaiEmbeddings,
} from './embeddings/protocols.ts'
import { geminiProfile, google } from './google/index.ts'
import { serverIn } from './http/connectionOf.ts'
import { mistral, mistralProfile } from './mistral/index.ts'
import { ollama, ollamaProfile, ollamaServer } from './ollama/index.ts'
import { openaiChat } from './openai-chat/index.ts'
import type { Provider } from './provider.ts'

const models = { models: { path: '/models' } }

/** The models of a local server are not known here. */
const ownModels = {
  defaultModel: '',
  embeddings: { protocol: openaiEmbeddings, defaultModel: '' },
  ...models,
}

/** The providers that statewire knows by name. */
export const presets: readonly Provider[] = [
  ...openai,
  defineProvider({
    name: 'anthropic',
    aliases: ['claude'],
    protocol: anthropic,
    server: serverIn('ANTHROPIC_BASE_URL', '/v1'),
    baseUrl: 'https://api.anthropic.com/v1',
    keyVariable: 'ANTHROPIC_API_KEY',
    keyHeader: (key) => ({ 'x-api-key': key }),
    headers: anthropicHeaders,
    defaultModel: 'claude-sonnet-5-5',
    profile: anthropicProfile,
    models: { path: '/models?limit=1000' },
  }),
  defineProvider({
    name: 'google',
    aliases: ['gemini'],
    protocol: google,
    server: serverIn('GOOGLE_GEMINI_BASE_URL', '/v1beta'),
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    keyVariable: 'GEMINI_API_KEY',
    keyHeader: (key) => ({ 'x-goog-api-key': key }),
    defaultModel: 'gemini-3.8-flash',
    profile: geminiProfile,
    embeddings: { protocol: googleEmbeddings, defaultModel: 'gemini-embedding-001' },
    models: { path: '/models?pageSize=1000' },
  }),
  defineProvider({
    name: 'ollama',
    protocol: ollama,
    server: ollamaServer('/api'),
    baseUrl: 'http://localhost:11434/api',
    defaultModel: 'qwen3:8b',
    profile: ollamaProfile,
    embeddings: { protocol: ollamaEmbeddings, defaultModel: 'nomic-embed-text' },
    models: { path: '/tags' },
  }),
  defineProvider({
    name: 'mistral',
    protocol: mistral,
    server: serverIn('MISTRAL_BASE_URL'),
    baseUrl: 'https://api.mistral.ai/v1',
    keyVariable: 'MISTRAL_API_KEY',
    defaultModel: 'mistral-small-latest',
    profile: mistralProfile,
    embeddings: { protocol: mistralEmbeddings, defaultModel: 'mistral-embed' },
    ...models,
  }),
  defineProvider({
    name: 'cohere',
    protocol: cohere,
    server: serverIn('CO_API_URL', '/v2'),
    baseUrl: 'https://api.cohere.com/v2',
    keyVariable: 'COHERE_API_KEY',
    defaultModel: 'command-a-plus-05-2026',
    profile: cohereProfile,
    embeddings: { protocol: cohereEmbeddings, defaultModel: 'embed-v4.0' },
    models: {
      path: '/models?page_size=1000',
      baseUrl: (url) => url.replace('.cohere.com/v2', '.cohere.com/v1'),
    },
  }),
  xai,
  perplexity,
  ...chatHosts.map((host) => defineProvider({ ...host, protocol: openaiChat })),
  defineProvider({
    ...ownModels,
    name: 'openai-compatible',
    protocol: openaiChat,
    baseUrl: '{baseUrl}',
    profile: (model, _, url) => chatProfileAt(url, model),
  }),
  ...azure,
  vertex,
  bedrock,
]
