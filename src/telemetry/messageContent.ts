import type { JsonObject, JsonValue } from '../messages/json.ts'
import { type ChatMessage, type Part, type ToolResultPart, textOf } from '../messages/messages.ts'
import type { ToolSpec } from '../model/chatModel.ts'
import { Excerpt, remark } from './Excerpt.ts'

type Hide = (text: string) => string

const mostMessages = 1_000

/** The messages of a conversation as the conventions write them: the newest that fit, and how many are left out. */
export const messagesContent = (
  messages: readonly ChatMessage[],
  hide: Hide,
  finishReason?: string,
): { json: string; omitted: number } => {
  const excerpt = new Excerpt(hide)
  // Each costs at least something: looking at so many is enough.
  const newest = messages.slice(-mostMessages).reverse()
  const shown = excerpt.some(newest, (each) => messageContent(each, excerpt, finishReason))
  return { json: JSON.stringify(shown.reverse().flat()), omitted: messages.length - shown.length }
}

/** The system prompt. */
export const systemContent = (messages: readonly ChatMessage[], hide: Hide): string => {
  const excerpt = new Excerpt(hide)
  return JSON.stringify(
    excerpt.some(messages, (each) => ({ type: 'text', content: excerpt.text(textOf(each)) })),
  )
}

/** The tools as the model sees them. */
export const toolsContent = (tools: readonly ToolSpec[], hide: Hide): string => {
  const excerpt = new Excerpt(hide)
  return JSON.stringify(
    excerpt.some(tools, ({ name, description, inputSchema }) => ({
      type: 'function',
      name: excerpt.text(name),
      description: excerpt.text(description),
      parameters: excerpt.json(inputSchema),
    })),
  )
}

export const argumentsContent = (args: JsonObject, hide: Hide): string =>
  JSON.stringify(new Excerpt(hide).json(args))

export const resultContent = (result: ToolResultPart, hide: Hide): string => {
  const excerpt = new Excerpt(hide)
  const response = responseOf(result, excerpt)
  return typeof response === 'string' ? response : JSON.stringify(response)
}

const messageContent = (
  { role, parts, metadata }: ChatMessage,
  excerpt: Excerpt,
  finishReason: string | undefined,
): JsonObject[] => {
  if (role !== 'model') {
    // Tool results have their own role; what a person added to them has the person's.
    const results = parts.filter((part) => part.type === 'toolResult')
    const others = parts.filter((part) => part.type !== 'toolResult')
    return [
      ...(results.length > 0 ? [{ role: 'tool', parts: partsOf(results, excerpt) }] : []),
      ...(others.length > 0 ? [{ role, parts: partsOf(others, excerpt) }] : []),
    ]
  }
  const thinking = metadata?.thinking
  const reasoning =
    typeof thinking === 'string' ? [{ type: 'reasoning', content: excerpt.text(thinking) }] : []
  return [
    {
      role: 'assistant',
      parts: [...reasoning, ...partsOf(parts, excerpt)],
      ...(finishReason !== undefined && { finish_reason: finishReason }),
    },
  ]
}

const partsOf = (parts: readonly Part[], excerpt: Excerpt): JsonObject[] => {
  const shown = excerpt.some(parts, (part) => partContent(part, excerpt))
  const cut = { type: 'text', content: remark(`… ${parts.length} parts in all`) }
  return shown.length < parts.length ? [...shown, cut] : shown
}

const partContent = (part: Part, excerpt: Excerpt): JsonObject => {
  switch (part.type) {
    case 'text':
      return { type: 'text', content: excerpt.text(part.text) }
    case 'data':
      // The bytes themselves belong into no trace.
      return { type: 'blob', mime_type: excerpt.text(part.mimeType), modality: modalityOf(part), content: '' }
    case 'link':
      return {
        type: 'uri',
        modality: modalityOf(part),
        uri: excerpt.text(part.url),
        ...(part.mimeType !== undefined && { mime_type: excerpt.text(part.mimeType) }),
      }
    case 'toolCall':
      return {
        type: 'tool_call',
        id: excerpt.text(part.id),
        name: excerpt.text(part.name),
        arguments: excerpt.json(part.arguments),
      }
    case 'toolResult':
      return { type: 'tool_call_response', id: excerpt.text(part.id), response: responseOf(part, excerpt) }
  }
}

const responseOf = ({ result, parts = [] }: ToolResultPart, excerpt: Excerpt): JsonValue => {
  if (parts.length === 0) return excerpt.text(result)
  const said = result === '' ? [] : [{ type: 'text', content: excerpt.text(result) }]
  return [...said, ...partsOf(parts, excerpt)]
}

/** `image`, `audio`, `video`; anything else is a document. */
const modalityOf = ({ mimeType = '' }: { mimeType?: string }): string =>
  /^(?:image|audio|video)(?=\/)/.exec(mimeType)?.[0] ?? 'document'
