import { toBase64 } from './base64.ts'
import { isJsonObject, type JsonObject } from './json.ts'

/** A turn of a conversation. Plain JSON, so it can be stored and sent anywhere. */
export type ChatMessage = { role: 'system' | 'user' | 'model'; parts: Part[]; metadata?: JsonObject }

/** A piece of text. */
export type TextPart = { type: 'text'; text: string }
/** Inline binary content; `data` is base64. */
export type DataPart = { type: 'data'; mimeType: string; data: string; name?: string }
/** Content that is elsewhere, for models that fetch it themselves. */
export type LinkPart = { type: 'link'; url: string; mimeType?: string; name?: string }
/**
 * A tool call that the model asked for. If its arguments are not a JSON object, `arguments` is `{}`, `argumentsRaw` has
 * the original text and `argumentsError` the problem: such a call never runs.
 */
export type ToolCallPart = {
  type: 'toolCall'
  id: string
  name: string
  arguments: JsonObject
  argumentsRaw?: string
  argumentsError?: string
}
/** The answer to a tool call, as the model sees it. */
export type ToolResultPart = {
  type: 'toolResult'
  id: string
  name: string
  /** Text as the tool gave it, or JSON. Empty only if there are `parts` instead. */
  result: string
  /** Images, documents and links that belong to the result; each provider gets those that it can read. */
  parts?: (DataPart | LinkPart)[]
  isError?: boolean
  /** A person rejected the call: it did not run. */
  rejected?: boolean
}

/** A part of a message. */
export type Part = TextPart | DataPart | LinkPart | ToolCallPart | ToolResultPart

const message = (
  role: ChatMessage['role'],
  content: string | Part[],
  metadata?: JsonObject,
): ChatMessage => ({
  role,
  parts: typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  ...(metadata && { metadata }),
})

/**
 * A message of the user.
 *
 * @example userMessage('hi')
 */
export const userMessage = (content: string | Part[], metadata?: JsonObject): ChatMessage =>
  message('user', content, metadata)

/**
 * A message of the model.
 *
 * @example modelMessage('hello')
 */
export const modelMessage = (content: string | Part[], metadata?: JsonObject): ChatMessage =>
  message('model', content, metadata)

/**
 * A system prompt, as a message.
 *
 * @example systemMessage('Be brief.')
 */
export const systemMessage = (content: string | Part[], metadata?: JsonObject): ChatMessage =>
  message('system', content, metadata)

/**
 * Text, as a part of a message.
 *
 * @example textPart('hi')
 */
export const textPart = (text: string): TextPart => ({ type: 'text', text })

/**
 * Wraps bytes (or base64 text) as an attachment.
 *
 * @example dataPart('image/png', await readFile('plan.png'))
 */
export const dataPart = (mimeType: string, data: Uint8Array | string, name?: string): DataPart => ({
  type: 'data',
  mimeType,
  data: typeof data === 'string' ? data : toBase64(data),
  ...(name !== undefined && { name }),
})

/**
 * A link, as a part of a message: for providers that fetch it themselves.
 *
 * @example linkPart('https://example.com/plan.png', 'image/png')
 */
export const linkPart = (url: string, mimeType?: string, name?: string): LinkPart => ({
  type: 'link',
  url,
  ...(mimeType !== undefined && { mimeType }),
  ...(name !== undefined && { name }),
})

/**
 * The text of a message: its text parts joined.
 *
 * @example textOf(userMessage('hi')) // 'hi'
 */
export const textOf = (message: ChatMessage): string => {
  let text = ''
  for (const part of message.parts) if (part.type === 'text') text += part.text
  return text
}

/** The space between the comments of a model at work (`metadata.commentary`) and the text after them. */
export const commentaryGap = '\n\n'

/** The text of a message without its commentary; a message of nothing but commentary keeps it. */
export const answerTextOf = (message: ChatMessage): string => {
  const text = textOf(message)
  const commentary = message.metadata?.commentary
  if (!Array.isArray(commentary)) return text
  const before = commentary.map((each) => `${each}${commentaryGap}`).join('')
  return text.startsWith(before) ? text.slice(before.length) : text
}

/**
 * The tool calls of a message, in order.
 *
 * @example result.messages.flatMap(toolCallsOf)
 */
export const toolCallsOf = (message: ChatMessage): ToolCallPart[] =>
  message.parts.filter((part) => part.type === 'toolCall')

/**
 * The tool results of a message, in order.
 *
 * @example result.messages.flatMap(toolResultsOf)
 */
export const toolResultsOf = (message: ChatMessage): ToolResultPart[] =>
  message.parts.filter((part) => part.type === 'toolResult')

/** Says whether a message is the result of a background agent. */
export const isTaskResult = ({ role, metadata }: ChatMessage): boolean =>
  role === 'user' && isJsonObject(metadata?.task)
