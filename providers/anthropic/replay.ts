import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import {
  type ChatMessage,
  type TextPart,
  type ToolCallPart,
  textOf,
  toolCallsOf,
} from '../../src/messages/messages.ts'
import { arrayAt, stringAt } from '../wire/json.ts'

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
  if (!message.parts.every(isTextOrCall)) return undefined
  const text = textOf(message)
  const calls = toolCallsOf(message)
  const blocks: JsonObject[] = []
  let used = 0
  let nextCall = 0
  for (const entry of skeleton) {
    if (!isJsonObject(entry)) return undefined
    const { text: length, call: order, ...extras } = entry
    const call = calls[nextCall]
    if (typeof entry.type === 'string') blocks.push(entry)
    else if (typeof length === 'number') {
      blocks.push(textBlock(text.slice(used, used + length), extras))
      used += length
    } else if (call && order === nextCall) {
      blocks.push(toolUseBlock(call, wireId(call.id), extras))
      nextCall++
    } else return undefined
  }
  return used === text.length && nextCall === calls.length ? blocks : undefined
}

const isTextOrCall = (part: ChatMessage['parts'][number]): part is TextPart | ToolCallPart =>
  part.type === 'text' || part.type === 'toolCall'

export const skeletonAt = (opaque: JsonObject): JsonValue[] => arrayAt(opaque, 'blocks') ?? []

export const containerAt = (opaque: JsonObject | undefined): string | undefined =>
  stringAt(opaque, 'container')
