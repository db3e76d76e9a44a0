import type { JsonObject } from '../../src/messages/json.ts'
import type { Thinking } from '../../src/model/chatModel.ts'
import type { EffortWord } from '../models/modelFacts.ts'
import { effortFor, someThinking } from '../models/thinking.ts'
import type { MistralProfile } from './profile.ts'

const switched: readonly EffortWord[] = ['none', 'high']

/** How much the model thinks, in the word its generation takes. */
export const thinkingSettings = (
  thinking: Thinking | undefined,
  { thinking: canThink, thinkingControl, efforts = switched }: MistralProfile,
): JsonObject => {
  if (thinking === undefined || !canThink) return {}
  if (thinkingControl === 'prompt_mode') return { prompt_mode: thinking === false ? null : 'reasoning' }
  const effort = effortFor(someThinking(thinking), efforts)
  return effort === undefined ? {} : { reasoning_effort: effort }
}
