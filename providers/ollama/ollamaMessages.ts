import { textFromBase64 } from '../../src/messages/base64.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { type JsonObject, ownValue } from '../../src/messages/json.ts'
import {
  type ChatMessage,
  type DataPart,
  type LinkPart,
  textOf,
  toolCallsOf,
  toolResultsOf,
} from '../../src/messages/messages.ts'
import { conversationOf, opaqueOf, wireIdsOf } from '../conversation.ts'
import type { Target } from '../protocol.ts'
import type { OllamaProfile } from './profile.ts'

/** The history as Ollama wants it: one content text per message, images beside it, one message per tool result. */
export const ollamaMessages = (
  messages: readonly ChatMessage[],
  target: Target<OllamaProfile>,
): JsonObject[] => {
  const { system, turns } = conversationOf(messages)
  const wireId = wireIdsOf(messages)
  return [
    ...(system === '' ? [] : [{ role: 'system', content: system }]),
    ...turns.flatMap((turn) =>
      turn.role === 'model' ? assistantMessages(turn, wireId, target) : userMessages(turn, wireId, target),
    ),
  ]
}

const userMessages = (
  turn: ChatMessage,
  wireId: (id: string) => string,
  target: Target<OllamaProfile>,
): JsonObject[] => {
  const results = toolResultsOf(turn).map((part) => ({
    role: 'tool',
    content: part.result,
    tool_name: part.name,
    ...idUnder('tool_call_id', wireId(part.id)),
  }))
  const texts: string[] = []
  const images: string[] = []
  for (const part of turn.parts) {
    if (part.type === 'text') texts.push(part.text)
    else if (part.type === 'link') throw refused(part, target)
    else if (part.type === 'data') {
      if (part.mimeType.startsWith('text/')) texts.push(textFromBase64(part.data))
      else if (isImage(part) && target.profile.attachments.images) images.push(part.data)
      else throw refused(part, target)
    }
  }
  const content = texts.join('\n\n')
  if (content === '' && images.length === 0) return results
  return [...results, { role: 'user', content, ...(images.length > 0 && { images }) }]
}

const assistantMessages = (
  turn: ChatMessage,
  wireId: (id: string) => string,
  target: Target<OllamaProfile>,
): JsonObject[] => {
  const content = textOf(turn)
  const calls = toolCallsOf(turn).map((call) => ({
    ...idUnder('id', wireId(call.id)),
    function: { name: call.name, arguments: call.argumentsError === undefined ? call.arguments : {} },
  }))
  // Pictures another provider's model made are shown where they can be seen, and left out where not.
  const images = target.profile.attachments.images
    ? turn.parts.flatMap((part) => (part.type === 'data' && isImage(part) ? [part.data] : []))
    : []
  const thinking = calls.length > 0 ? ownThinking(turn, target) : undefined
  if (content === '' && calls.length === 0 && images.length === 0) return []
  return [
    {
      role: 'assistant',
      content,
      ...(thinking !== undefined && { thinking }),
      ...(images.length > 0 && { images }),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
  ]
}

/** Ollama's tool loop sends the thoughts that led to a call back beside the call. */
const ownThinking = (turn: ChatMessage, target: Target<OllamaProfile>): string | undefined => {
  if (target.profile.forgetThinking || !opaqueOf(turn, 'ollama', target.provider)) return undefined
  const thinking = turn.metadata && ownValue(turn.metadata, 'thinking')
  return typeof thinking === 'string' && thinking !== '' ? thinking : undefined
}

const idUnder = (key: 'id' | 'tool_call_id', id: string): JsonObject => (id === '' ? {} : { [key]: id })

const isImage = (part: DataPart): boolean => part.mimeType.startsWith('image/')

const refused = (part: DataPart | LinkPart, { provider, model }: Target): ConfigurationError =>
  new ConfigurationError(
    part.type === 'link'
      ? `${provider} fetches no links, so ${model} cannot read ${part.url}. Attach the file itself instead.`
      : `${model} of ${provider} cannot read an attachment of type ${part.mimeType}. Send its text, or use a model that reads such files.`,
  )
