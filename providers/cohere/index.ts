import type { Protocol } from '../wire/protocol.ts'
import { cohereDecoder } from './decoder.ts'
import { cohereError } from './error.ts'
import { type CohereProfile, cohereFields } from './profile.ts'
import { cohereRequest } from './request.ts'

export { type CohereProfile, cohereProfile } from './profile.ts'

/** Cohere's chat API: `POST /chat` below a base URL that ends in `/v2`, answered as SSE. */
export const cohere: Protocol<CohereProfile> = {
  name: 'cohere',
  knownFields: true,
  profileFields: cohereFields,
  request: cohereRequest,
  decoder: cohereDecoder,
  error: cohereError,
}
