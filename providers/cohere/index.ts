import type { Protocol } from '../protocol.ts'
import { cohereError } from './cohereError.ts'
import { cohereRequest } from './cohereRequest.ts'
import { decodeCohere } from './decodeCohere.ts'
import type { CohereProfile } from './profile.ts'

export { type CohereProfile, cohereProfile } from './profile.ts'

/** Cohere's chat API: `POST /chat` below a base URL that ends in `/v2`, answered as SSE. */
export const cohere: Protocol<CohereProfile> = {
  name: 'cohere',
  request: cohereRequest,
  decoder: decodeCohere,
  error: cohereError,
}
