import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
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
import { chatForms } from '../wire/attachmentForms.ts'
import { type AttachmentForms, attachmentBlocks, resultAndFollowUp } from '../wire/attachments.ts'
import { arrayAt, stringAt } from '../wire/json.ts'
import type { Target } from '../wire/protocol.ts'
import { opaqueOf, roleMessages, thinkingOf } from '../wire/request.ts'
import { callIdRule, type OpenAIChatProfile } from './profile.ts'
import { callIds, type ReasoningField } from './replay.ts'

/** A history as the `messages` of a request: the system text first, then each turn in its own role. */
export const chatMessages = (
  messages: readonly ChatMessage[],
  target: Target<OpenAIChatProfile>,
): JsonObject[] => {
  const { systemRole = 'system', bridgesToolResults = false } = target.profile
  const wireId = callIds(messages, 'openai-chat', target, callIdRule(target.profile))
  const forms = chatForms(target.profile)
  const wire = roleMessages(messages, target, wireId, {
    system: systemRole,
    model: (turn) => assistantMessage(turn, target, wireId),
    user: (turn) => userMessages(turn, wireId, target, forms),
  })
  return bridgesToolResults ? bridged(wire, { role: 'assistant', content: 'OK.' }) : wire
}

const assistantMessage = (
  turn: ChatMessage,
  target: Target<OpenAIChatProfile>,
  wireId: (id: string) => string,
): JsonObject[] => {
  const opaque = opaqueOf(turn, 'openai-chat', target.provider)
  // A spoken answer goes back as its words: the recording itself expires.
  const text = textOf(turn) || (stringAt(turn.metadata, 'transcript') ?? '')
  const calls = toolCallsOf(turn)
  const images = target.profile.replaysImages ? turn.parts.filter(isImage).map(imageOf) : []
  if (text === '' && calls.length === 0 && images.length === 0) return []
  const extras = arrayAt(opaque, 'extraContent') ?? []
  const textCalls = arrayAt(opaque, 'textCalls') ?? []
  const toolCalls = calls.map((call, at): JsonObject => {
    const extra = extras[at]
    const sent = textCalls.includes(at) ? customCall(call, wireId) : functionCall(call, wireId)
    return { ...sent, ...(isJsonObject(extra) && { extra_content: extra }) }
  })
  return [
    {
      role: 'assistant',
      content: text === '' ? null : text,
      ...(calls.length > 0 && { tool_calls: toolCalls }),
      ...(images.length > 0 && { images }),
      ...reasoningOf(turn, opaque, target),
    },
  ]
}

const isImage = (part: Part): part is DataPart | LinkPart =>
  (part.type === 'link' && /^https?:/i.test(part.url)) ||
  (part.type === 'data' && part.mimeType.startsWith('image/'))

const imageOf = (part: DataPart | LinkPart): JsonObject => ({
  type: 'image_url',
  image_url: { url: part.type === 'link' ? part.url : `data:${part.mimeType};base64,${part.data}` },
})

const reasoningOf = (
  turn: ChatMessage,
  opaque: JsonObject | undefined,
  { model, profile }: Target<OpenAIChatProfile>,
): JsonObject => {
  const { reasoningReplay } = profile
  const thinking = thinkingOf(turn)
  const hasCalls = toolCallsOf(turn).length > 0
  if (reasoningReplay === 'reasoning' || reasoningReplay === 'reasoning_content') {
    const text = (opaque?.thinking === true && thinking) || ''
    // DeepSeek and Kimi want the field on every message with calls; Kimi takes an empty one for none.
    return text !== '' || hasCalls ? { [reasoningReplay]: text || ' ' } : {}
  }
  // Signatures and encrypted blocks are only good for the model that made them, and others may not know the field.
  if (reasoningReplay === 'none' || opaque?.model !== model) return {}
  const details = arrayAt(opaque, 'reasoningDetails')
  if (details) return { reasoning_details: details }
  const field = stringAt(opaque, 'reasoningField')
  // Without calls the turn is over, and its reasoning is no longer needed.
  return hasCalls && thinking !== undefined && isReasoningField(field) ? { [field]: thinking } : {}
}

/** A history may come from anywhere: it must not name any other field of a request. */
const isReasoningField = (field: string | undefined): field is ReasoningField =>
  field === 'reasoning' || field === 'reasoning_content'

/**
 * A user turn on the wire: tool results come first, each as its own message. Those are text only, so the files of
 * results come first in the user's message.
 */
export const userMessages = (
  turn: ChatMessage,
  wireId: (id: string) => string,
  target: Target,
  forms: AttachmentForms,
): JsonObject[] => {
  const shown: JsonObject[] = []
  const results = toolResultsOf(turn).map((part): JsonObject => {
    const { text, followUp } = resultAndFollowUp(part, target, forms)
    shown.push(...followUp)
    return { role: 'tool', tool_call_id: wireId(part.id), content: text }
  })
  const said = turn.parts.filter((part) => part.type !== 'toolCall' && part.type !== 'toolResult')
  for (const part of said) {
    if (part.type !== 'text') shown.push(...attachmentBlocks(part, target, forms))
    else if (part.text !== '') shown.push(forms.text(part.text))
  }
  return shown.length === 0 && said.length === 0
    ? results
    : [...results, { role: 'user', content: contentOf(shown) }]
}

/** Plain text goes as a string: not every server reads lists. */
const contentOf = (blocks: JsonObject[]): string | JsonObject[] => {
  const texts = blocks.map((block) => stringAt(block, 'text')).filter((text) => text !== undefined)
  return texts.length === blocks.length ? texts.join('\n\n') : blocks
}

export const functionCall = (call: ToolCallPart, wireId: (id: string) => string): JsonObject => ({
  id: wireId(call.id),
  type: 'function',
  function: { name: call.name, arguments: argumentsText(call) },
})

/** A call of a tool that takes any text: its one argument was that text. */
const customCall = (call: ToolCallPart, wireId: (id: string) => string): JsonObject => ({
  id: wireId(call.id),
  type: 'custom',
  custom: { name: call.name, input: stringAt(call.arguments, 'input') ?? '' },
})

/** Arguments that never parsed are not sent back: servers that parse the history would refuse it for ever. */
const argumentsText = (call: ToolCallPart): string =>
  call.argumentsError === undefined ? (call.argumentsRaw ?? JSON.stringify(call.arguments)) : '{}'

/** Puts an assistant message between tool results and the user's next message. */
export const bridged = (messages: JsonObject[], bridge: JsonObject): JsonObject[] =>
  messages.flatMap((message, at) =>
    message.role === 'user' && messages[at - 1]?.role === 'tool' ? [bridge, message] : [message],
  )
