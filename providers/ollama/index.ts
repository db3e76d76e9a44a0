import type { Protocol } from '../protocol.ts'
import { decodeOllama } from './decodeOllama.ts'
import { ollamaError } from './ollamaError.ts'
import { ollamaRequest } from './ollamaRequest.ts'
import type { OllamaProfile } from './profile.ts'

export { type OllamaProfile, ollamaProfile } from './profile.ts'

/** Ollama's native API: `POST /chat` below a base URL that ends in `/api`, answered as NDJSON. */
export const ollama: Protocol<OllamaProfile> = {
  name: 'ollama',
  request: ollamaRequest,
  decoder: decodeOllama,
  error: ollamaError,
}
