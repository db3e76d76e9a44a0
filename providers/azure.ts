import { openaiEmbeddings } from './embeddings/index.ts'
import { bearer } from './http/connectionOf.ts'
import { serverIn } from './http/server.ts'
import { openaiProtocols } from './openaiProtocols.ts'
import type { Provider } from './provider.ts'

const place = {
  server: serverIn('AZURE_OPENAI_ENDPOINT', '/openai/v1'),
  baseUrl: 'https://{resource}.openai.azure.com/openai/v1',
  hosts: /\.(openai|cognitiveservices|services\.ai)\.azure\.(com|us|cn)$/,
  keyVariable: 'AZURE_OPENAI_API_KEY',
  keyForms: 'a key, or a function that returns an Entra ID token',
  keyHeader: (key: string, isToken: boolean) => (isToken ? bearer(key) : { 'api-key': key }),
  // The model is the name of a deployment, which does not say what it is.
  defaultModel: '',
  embeddings: { protocol: openaiEmbeddings, defaultModel: '' },
  models: { path: '/models' },
}

/** OpenAI's models in Microsoft's cloud, over either of OpenAI's protocols. */
export const azure = (name: 'azure' | 'azure-responses' | 'azure-chat'): Provider => {
  if (name === 'azure') return openaiProtocols.byModel({ ...place, name })
  return name === 'azure-chat'
    ? openaiProtocols.chat({ ...place, name })
    : openaiProtocols.responses({ ...place, name })
}
