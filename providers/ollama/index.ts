import type { EnvironmentServer } from '../http/connectionOf.ts'
import type { Protocol } from '../wire/protocol.ts'
import { ollamaDecoder } from './decoder.ts'
import { ollamaError } from './error.ts'
import { type OllamaProfile, ollamaFields } from './profile.ts'
import { ollamaRequest } from './request.ts'

export { type OllamaProfile, ollamaProfile } from './profile.ts'

/** Ollama's native API: `POST /chat` below a base URL that ends in `/api`, answered as NDJSON. */
export const ollama: Protocol<OllamaProfile> = {
  name: 'ollama',
  knownFields: true,
  profileFields: ollamaFields,
  request: ollamaRequest,
  decoder: ollamaDecoder,
  error: ollamaError,
}

/** `OLLAMA_HOST`, as Ollama's own client reads it: the API is below `path`. */
export const ollamaServer = (path: '/api' | '/v1'): EnvironmentServer => ({
  variables: ['OLLAMA_HOST'],
  url(read) {
    const host = read('OLLAMA_HOST')
    return host === undefined ? undefined : ollamaUrl(host, path)
  },
})

/** A URL, or a host with or without a port; 0.0.0.0 is where a server listens, not where it is. */
export const ollamaUrl = (host: string, path: '/api' | '/v1'): string => {
  const isUrl = /^https?:\/\//.test(host)
  const text = isUrl ? host : `http://${host}`
  const url = new URL(URL.canParse(text) ? text : 'http://127.0.0.1')
  if (url.port === '' && !(isUrl && URL.canParse(text))) url.port = '11434'
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  return `${url.origin}${path}`
}
