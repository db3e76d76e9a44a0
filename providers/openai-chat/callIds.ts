import type { JsonObject } from '../../src/messages/json.ts'
import { type ChatMessage, toolCallsOf } from '../../src/messages/messages.ts'
import type { WireToolCall } from '../../src/model/delta.ts'
import { type IdRule, opaqueOf, wireIdsOf } from '../wire/conversation.ts'
import type { Target } from '../wire/protocol.ts'

/** Marks a message whose ids break the rule although this very model made them: it accepts them again. */
export const ownIdsMark = (calls: readonly WireToolCall[], rule: IdRule | undefined): JsonObject =>
  rule && calls.some((call) => call.id !== '' && !rule.pattern.test(call.id)) ? { ownIds: true } : {}

/** The id to send for each tool call: a model's own ids as they are, foreign ones so that the rule is kept. */
export const callIds = (
  messages: readonly ChatMessage[],
  protocol: string,
  target: Target,
  rule: IdRule | undefined,
): ((id: string) => string) => {
  const original = wireIdsOf(messages)
  const own = new Set<string>()
  for (const message of messages) {
    const opaque = opaqueOf(message, protocol, target.provider)
    if (opaque?.ownIds !== true || opaque.model !== target.model) continue
    for (const call of toolCallsOf(message)) own.add(call.id)
  }
  const ruled = wireIdsOf(messages, rule)
  return (id) => (own.has(id) ? original(id) : ruled(id))
}
