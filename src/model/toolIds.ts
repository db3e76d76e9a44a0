import type { JsonObject } from '../messages/json.ts'
import { type ChatMessage, type ToolCallPart, toolCallsOf } from '../messages/messages.ts'
import type { WireToolCall } from './delta.ts'

/**
 * Gives every call of a message an id that is unique in the conversation: the provider's own where it is non-empty
 * and unused, a new one otherwise. Where a provider used an id again that an earlier message has, its own id is kept
 * aside in `providerCallIds`, because that is the one it knows when the result comes back.
 */
export const assignToolIds = (
  calls: readonly WireToolCall[],
  history: readonly ChatMessage[],
  newId: () => string,
): { parts: ToolCallPart[]; providerCallIds: JsonObject } => {
  if (calls.length === 0) return { parts: [], providerCallIds: {} }
  const earlier = new Set(history.flatMap(toolCallsOf).map((call) => call.id))
  const here = new Set<string>()
  const renamed: [string, string][] = []
  const parts = calls.map((call): ToolCallPart => {
    const usable = call.id !== '' && !here.has(call.id)
    const id = usable && !earlier.has(call.id) ? call.id : newId()
    if (usable && id !== call.id) renamed.push([id, call.id])
    here.add(call.id)
    return { type: 'toolCall', ...call, id }
  })
  return { parts, providerCallIds: Object.fromEntries(renamed) }
}
