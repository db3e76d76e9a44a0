import type { Protocol } from '../wire/protocol.ts'
import { decodeResponses } from './decoder.ts'
import { responsesError } from './error.ts'
import type { OpenAIResponsesProfile } from './profile.ts'
import { protocolName } from './replay.ts'
import { responsesRequest } from './request.ts'

export { needsResponses, openaiResponsesProfile } from './modelProfile.ts'
export { isUnknownPreviousResponse, withoutPreviousResponse } from './previousResponse.ts'
export type { OpenAIResponsesProfile } from './profile.ts'
export { isSummaryRefused } from './reasoning.ts'

/** OpenAI's Responses API: `POST /responses`, answered as typed events, continued by the id of an earlier response. */
export const openaiResponses: Protocol<OpenAIResponsesProfile> = {
  name: protocolName,
  request: responsesRequest,
  decoder: decodeResponses,
  error: responsesError,
}
