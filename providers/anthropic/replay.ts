import type { JsonObject, JsonValue } from '../../src/messages/json.ts'
import type { ChatMessage, ToolCallPart } from '../../src/messages/messages.ts'
import { arrayAt, stringAt } from '../wire/json.ts'
import { rebuilt } from '../wire/replay.ts'

/*
 * A skeleton is the order of a response's content blocks, so that signed and encrypted blocks go back exactly where they were.
 *
 * Each entry is a whole block that only the provider understands (it has a `type`), `{ text: n }` for the next n
 * characters of the message's text, or `{ call: n }` for its nth tool call. Text and calls are not repeated here.
 */

export const textEntry = (length: number, citations: JsonValue[]): JsonObject => ({
  text: length,
  ...(citations.length > 0 && { citations }),
})

/** `extras` are the fields of a `tool_use` block that a tool call has no place for, such as `caller`. */
export const callEntry = (order: number, extras: JsonObject): JsonObject => ({ ...extras, call: order })

export const textBlock = (text: string, extras?: JsonObject): JsonObject => ({
  ...extras,
  type: 'text',
  text,
})

export const toolUseBlock = (call: ToolCallPart, id: string, extras?: JsonObject): JsonObject => ({
  ...extras,
  type: 'tool_use',
  id,
  name: call.name,
  input: call.argumentsError === undefined ? call.arguments : {},
})

/** The blocks of a model message as the provider sent them; undefined when the message was edited since. */
export const rebuild = (
  message: ChatMessage,
  skeleton: readonly JsonValue[],
  wireId: (id: string) => string,
): JsonObject[] | undefined => {
  let next = 0
  return rebuilt(message, skeleton, {
    block: (entry) => (typeof entry.type === 'string' ? entry : undefined),
    text: (text, { text: _, ...extras }) => textBlock(text, extras),
    call: (call, { call: order, ...extras }) =>
      order === next++ ? toolUseBlock(call, wireId(call.id), extras) : undefined,
  })
}

export const skeletonAt = (opaque: JsonObject): JsonValue[] => arrayAt(opaque, 'blocks') ?? []

export const containerAt = (opaque: JsonObject | undefined): string | undefined =>
  stringAt(opaque, 'container')
