import type { JsonObject } from '../messages/json.ts'
import { type ChatMessage, type ToolCallPart, toolCallsOf } from '../messages/messages.ts'
import type { WireToolCall } from './delta.ts'

/**
 * Gives every call of a message an id that is unique in the conversation: the provider's own where it is non-empty and
 * unused, a new one otherwise. If a provider reuses the id of an earlier message, its own id is kept in
 * `providerCallIds`, because that is the one it expects with the result.
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
