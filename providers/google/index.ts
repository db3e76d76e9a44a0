import type { Protocol } from '../wire/protocol.ts'
import { GoogleDecoder } from './decoder.ts'
import { googleError } from './error.ts'
import { type GoogleProfile, googleFields } from './profile.ts'
import { googleRequest } from './request.ts'

export { type GoogleProfile, geminiProfile } from './profile.ts'

/** Gemini's `generateContent`, streamed as server-sent events. */
export const google: Protocol<GoogleProfile> = {
  name: 'google',
  knownFields: true,
  profileFields: googleFields,
  request: googleRequest,
  decoder: (target) => new GoogleDecoder(target.provider),
  error: googleError,
}
