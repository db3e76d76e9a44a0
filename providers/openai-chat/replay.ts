import type { JsonObject } from '../../src/messages/json.ts'
import type { WireToolCall } from '../../src/model/delta.ts'
import type { Target } from '../wire/protocol.ts'
import { ownIdsMark } from './callIds.ts'
import { callIdRule, type OpenAIChatProfile } from './profile.ts'
import { ReasoningDetails, type ReasoningField, reasoningField } from './reasoning.ts'

/** What a finished answer was, as far as the replay cares. */
export type Answer = {
  calls: readonly WireToolCall[]
  /** What came with each call and must go back with it. */
  extras: readonly (JsonObject | null)[]
  hasThinking: boolean
}

/** Collects what goes back to the model that made it, and to no other. */
export type Replay = {
  read(delta: JsonObject): void
  data(answer: Answer): JsonObject
}

export const chatReplay = ({ profile }: Target<OpenAIChatProfile>): Replay => {
  const { reasoningReplay } = profile
  const isText = reasoningReplay === 'reasoning' || reasoningReplay === 'reasoning_content'
  const isAsSent = reasoningReplay === undefined
  const details = new ReasoningDetails()
  let field: ReasoningField | undefined
  return {
    read: (delta) => {
      if (isAsSent || reasoningReplay === 'reasoning_details') details.add(delta)
      if (isAsSent) field ??= reasoningField(delta)
    },
    data: ({ calls, extras, hasThinking }) => ({
      ...(details.items.length > 0 && { reasoningDetails: details.items }),
      // The text itself is on the message already.
      ...(hasThinking && isText && { thinking: true }),
      ...(field && details.items.length === 0 && { reasoningField: field }),
      ...(extras.some((extra) => extra !== null) && { extraContent: [...extras] }),
      ...ownIdsMark(calls, callIdRule(profile)),
    }),
  }
}
