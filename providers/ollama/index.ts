import type { Protocol } from '../wire/protocol.ts'
import { decodeOllama } from './decoder.ts'
import { ollamaError } from './error.ts'
import type { OllamaProfile } from './profile.ts'
import { ollamaRequest } from './request.ts'

export { type OllamaProfile, ollamaProfile } from './profile.ts'

/** Ollama's native API: `POST /chat` below a base URL that ends in `/api`, answered as NDJSON. */
export const ollama: Protocol<OllamaProfile> = {
  name: 'ollama',
  request: ollamaRequest,
  decoder: decodeOllama,
  error: ollamaError,
}
