import { embeddingsProtocols } from './embeddings/index.ts'
import { serverIn } from './http/server.ts'
import { openaiProtocols } from './openaiProtocols.ts'
import type { Provider } from './provider.ts'

const embeddings = embeddingsProtocols.get('openai')

const place = {
  server: serverIn('OPENAI_BASE_URL'),
  baseUrl: 'https://api.openai.com/v1',
  keyVariable: 'OPENAI_API_KEY',
  defaultModel: 'gpt-6-luna',
  models: { path: '/models' },
  ...(embeddings && { embeddings: { protocol: embeddings, defaultModel: 'text-embedding-3-small' } }),
}

/** OpenAI, which speaks two protocols. */
export const openai = (name: 'openai' | 'openai-responses' | 'openai-chat'): Provider => {
  if (name === 'openai') return openaiProtocols.byModel({ ...place, name })
  return name === 'openai-chat'
    ? openaiProtocols.chat({ ...place, name })
    : openaiProtocols.responses({ ...place, name })
}
