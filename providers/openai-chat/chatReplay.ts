import type { JsonObject } from '../../src/messages/json.ts'
import type { WireToolCall } from '../../src/model/delta.ts'
import type { Target } from '../protocol.ts'
import { ownIdsMark } from './callIds.ts'
import { callIdRule, type OpenAIChatProfile } from './profile.ts'
import { ReasoningDetails } from './reasoning.ts'

/** What a finished answer was, as far as the replay cares. */
export type Answer = {
  calls: readonly WireToolCall[]
  /** What came with each call and must go back with it. */
  extras: readonly (JsonObject | null)[]
  hasThinking: boolean
}

/** Collects what goes back to the model that made it, and nobody else. */
export type Replay = {
  read(delta: JsonObject): void
  data(answer: Answer): JsonObject
}

export const chatReplay = ({ profile }: Target<OpenAIChatProfile>): Replay => {
  const { reasoningReplay = 'none' } = profile
  const isText = reasoningReplay === 'reasoning' || reasoningReplay === 'reasoning_content'
  const details = new ReasoningDetails()
  return {
    read: (delta) => {
      if (reasoningReplay === 'reasoning_details') details.add(delta)
    },
    data: ({ calls, extras, hasThinking }) => ({
      ...(details.items.length > 0 && { reasoningDetails: details.items }),
      // The text itself is on the message already.
      ...(hasThinking && isText && { thinking: true }),
      ...(extras.some((extra) => extra !== null) && { extraContent: [...extras] }),
      ...ownIdsMark(calls, callIdRule(profile)),
    }),
  }
}
