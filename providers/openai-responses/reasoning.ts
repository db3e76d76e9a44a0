import type { ErrorData } from '../../src/messages/errors.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { Thinking } from '../../src/model/chatModel.ts'
import { anyEffort, effortFor, someThinking } from '../models/thinking.ts'
import type { OpenAIResponsesProfile } from './profile.ts'

/** How much the model thinks, and whether it shows a summary of it. */
export const reasoningOf = (
  thinking: Thinking | undefined,
  { thinking: canThink, efforts = anyEffort, reasoningSummary = true }: OpenAIResponsesProfile,
): JsonObject => {
  if (thinking === undefined || !canThink) return {}
  const effort = effortFor(someThinking(thinking), efforts)
  const reasoning = {
    ...(effort !== undefined && { effort }),
    ...(thinking !== false && reasoningSummary && { summary: 'auto' }),
  }
  return Object.keys(reasoning).length > 0 ? { reasoning } : {}
}

/** "Your organization must be verified to generate reasoning summaries": everything else of the request may stay. */
export const isSummaryRefused = ({ status, message }: ErrorData): boolean =>
  status === 400 && /reasoning summar|reasoning\.summary/i.test(message)
