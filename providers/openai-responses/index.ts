import type { Protocol } from '../wire/protocol.ts'
import { responsesDecoder } from './decoder.ts'
import { responsesError } from './error.ts'
import { type OpenAIResponsesProfile, responsesFields } from './profile.ts'
import { protocolName } from './replay.ts'
import { responsesRequest } from './request.ts'

export type { OpenAIResponsesProfile } from './profile.ts'
export { needsResponses, openaiResponsesProfile, responsesProfileOf } from './profile.ts'
export { isUnknownPreviousResponse, withoutPreviousResponse } from './request.ts'

/** OpenAI's Responses API: `POST /responses`, answered as typed events, continued by the id of an earlier response. */
export const openaiResponses: Protocol<OpenAIResponsesProfile> = {
  name: protocolName,
  knownFields: true,
  profileFields: responsesFields,
  request: responsesRequest,
  decoder: responsesDecoder,
  error: responsesError,
}
