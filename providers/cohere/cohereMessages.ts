import { textFromBase64 } from '../../src/messages/base64.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { type JsonObject, ownValue } from '../../src/messages/json.ts'
import {
  type ChatMessage,
  type DataPart,
  type LinkPart,
  type Part,
  type ToolCallPart,
  textOf,
  toolCallsOf,
  toolResultsOf,
} from '../../src/messages/messages.ts'
import { conversationOf, opaqueOf, wireIdsOf } from '../conversation.ts'
import type { Target } from '../protocol.ts'
import { stringAt } from '../wireJson.ts'
import type { CohereProfile } from './profile.ts'

/** The history as v2 chat wants it: one `tool` message per result, a plan instead of text before tool calls. */
export const cohereMessages = (
  messages: readonly ChatMessage[],
  target: Target<CohereProfile>,
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
  target: Target<CohereProfile>,
): JsonObject[] => {
  const results = toolResultsOf(turn).map((part) => ({
    role: 'tool',
    tool_call_id: wireId(part.id),
    // As a text, so that not a digit changes; the API reads a JSON object out of it by itself.
    content: part.result === '' ? '{}' : part.result,
  }))
  const content = turn.parts.flatMap((part) => contentBlocks(part, target))
  if (content.length === 0) return results
  const onlyText = content.length === 1 ? stringAt(content[0], 'text') : undefined
  return [...results, { role: 'user', content: onlyText ?? content }]
}

const contentBlocks = (part: Part, target: Target<CohereProfile>): JsonObject[] => {
  if (part.type === 'text') return textBlocks(part.text)
  if (part.type === 'data' && part.mimeType.startsWith('text/')) {
    return textBlocks(textFromBase64(part.data))
  }
  if (part.type !== 'data' && part.type !== 'link') return []
  if (!canSee(part, target)) throw refused(part, target)
  const url = part.type === 'link' ? part.url : `data:${part.mimeType};base64,${part.data}`
  return [{ type: 'image_url', image_url: { url } }]
}

const textBlocks = (text: string): JsonObject[] => (text === '' ? [] : [{ type: 'text', text }])

/** Pictures are all that Cohere's models read beside text. A link that does not say what it is may be one. */
const canSee = (part: DataPart | LinkPart, { profile: { attachments } }: Target): boolean =>
  attachments.images &&
  (part.mimeType ?? 'image/*').startsWith('image/') &&
  (part.type === 'data' || attachments.links)

const refused = (part: DataPart | LinkPart, { provider, model }: Target): ConfigurationError =>
  new ConfigurationError(
    `${model} of ${provider} cannot read ${part.type === 'link' ? `the link ${part.url}` : 'an attachment'} ` +
      `of type ${part.mimeType ?? 'unknown'}. Send its text, or use a model that reads such files.`,
  )

const assistantMessages = (
  turn: ChatMessage,
  wireId: (id: string) => string,
  target: Target<CohereProfile>,
): JsonObject[] => {
  const text = textOf(turn)
  const calls = toolCallsOf(turn)
  if (calls.length === 0) return text === '' ? [] : [{ role: 'assistant', content: text }]
  return [
    {
      role: 'assistant',
      ...beforeCalls(turn, text, target),
      tool_calls: calls.map((call) => ({
        id: wireId(call.id),
        type: 'function',
        function: { name: call.name, arguments: argumentsText(call) },
      })),
    },
  ]
}

/** What stands before tool calls: Cohere's own plan and thoughts, or the text of another provider as the plan. */
const beforeCalls = (turn: ChatMessage, text: string, target: Target<CohereProfile>): JsonObject => {
  const own = opaqueOf(turn, 'cohere', target.provider)
  if (!own) return text === '' ? {} : { tool_plan: text }
  const plan = stringAt(own, 'toolPlan')
  const thinking = own.ownThinking === true && !target.profile.forgetThinking ? thinkingOf(turn) : ''
  const content = [
    ...(thinking === '' ? [] : [{ type: 'thinking', thinking }]),
    ...(text === '' ? [] : [{ type: 'text', text }]),
  ]
  return { ...(plan && { tool_plan: plan }), ...(content.length > 0 && { content }) }
}

const thinkingOf = (turn: ChatMessage): string => {
  const thinking = turn.metadata && ownValue(turn.metadata, 'thinking')
  return typeof thinking === 'string' ? thinking : ''
}

const argumentsText = (call: ToolCallPart): string => {
  if (call.argumentsError !== undefined || Object.keys(call.arguments).length === 0) return '{}'
  return call.argumentsRaw ?? JSON.stringify(call.arguments)
}
