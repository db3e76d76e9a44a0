import type { JsonObject } from '../../src/messages/json.ts'
import type { ChatMessage } from '../../src/messages/messages.ts'
import { opaqueOf } from '../wire/conversation.ts'
import type { Target } from '../wire/protocol.ts'
import { stringAt } from '../wire/wireJson.ts'
import type { AnthropicProfile } from './profile.ts'
import { containerAt } from './replay.ts'
import {
  isCompaction,
  isServerTool,
  isThinking,
  isToolResult,
  type WireMessage,
  wireMessage,
} from './wireMessage.ts'

/** A history as the API wants it: roles alternate, tool results open the message that answers the calls. */
export const wireMessages = (
  turns: readonly ChatMessage[],
  target: Target<AnthropicProfile>,
): WireMessage[] => {
  const all = alternating(turns.map((turn) => wireMessage(turn, target)))
  const messages = sinceCompaction(all)
  const last = messages.at(-1)
  const prompt = messages.findLastIndex(isPrompt)
  const answered = answeredServerTools(messages)
  const acceptable = messages.map((message, index) => {
    if (message.role === 'user') return message
    let { content } = message
    // In a turn that is over, a server tool without its result would be rejected for ever; in an open one the
    // provider picks it up again.
    if (index < prompt) content = content.filter((block) => !isServerTool(block) || answered.has(block.id))
    return { ...message, content: acceptableEnd(content, message === last) }
  })
  return alternating(acceptable)
}

/** True when the open turn has calls but no signed thinking before them: thinking cannot be switched on midway. */
export const resumesWithoutThinking = (messages: readonly WireMessage[]): boolean => {
  const answer = messages.slice(messages.findLastIndex(isPrompt) + 1).find(({ role }) => role === 'assistant')
  return answer?.content[0] !== undefined && !isThinking(answer.content[0])
}

/** The container that the open turn works in: pending server tools can only be resumed there. */
export const openContainer = (
  turns: readonly ChatMessage[],
  target: Target<AnthropicProfile>,
): string | undefined => {
  const prompt = turns.findLastIndex(
    ({ role, parts }, index) =>
      role === 'user' &&
      turns[index - 1]?.role !== 'user' &&
      !parts.some((part) => part.type === 'toolResult'),
  )
  const containers = turns
    .slice(prompt + 1)
    .map((turn) => containerAt(opaqueOf(turn, 'anthropic', target.provider)))
  return containers.findLast((container) => container !== undefined)
}

/** Joins neighbours of one role and drops messages with nothing in them. */
const alternating = (messages: readonly WireMessage[]): WireMessage[] => {
  const joined: WireMessage[] = []
  for (const { role, content } of messages) {
    const previous = joined.at(-1)
    if (content.length === 0) continue
    if (previous?.role === role) previous.content = inOrder(role, [...previous.content, ...content])
    else joined.push({ role, content: inOrder(role, content) })
  }
  return joined
}

const inOrder = (role: WireMessage['role'], content: JsonObject[]): JsonObject[] =>
  role === 'assistant'
    ? content
    : [...content.filter(isToolResult), ...content.filter((block) => !isToolResult(block))]

/** A compaction block replaces everything before it; the API takes it as the very first block only. */
const sinceCompaction = (messages: WireMessage[]): WireMessage[] => {
  const index = messages.findLastIndex(({ content }) => content.some(isCompaction))
  const message = messages[index]
  if (!message) return messages
  const content = message.content.slice(message.content.findLastIndex(isCompaction))
  return [{ ...message, content }, ...messages.slice(index + 1)]
}

/** An answer may not end in thinking that led to nothing, and one to be continued may not end in white space. */
const acceptableEnd = (content: JsonObject[], isLast: boolean): JsonObject[] => {
  const end = content.findLastIndex((block) => !isThinking(block)) + 1
  const blocks = content.slice(0, end)
  const last = blocks.at(-1)
  const text = stringAt(last, 'text')
  if (!isLast || last?.type !== 'text' || text === undefined) return blocks
  return [...blocks.slice(0, -1), { ...last, text: text.trimEnd() }]
}

const answeredServerTools = (messages: readonly WireMessage[]): ReadonlySet<unknown> =>
  new Set(messages.flatMap(({ content }) => content.map((block) => block.tool_use_id)))

/** A user message that opens a turn: one with tool results continues the old turn, even if it has text. */
const isPrompt = ({ role, content }: WireMessage): boolean => role === 'user' && !content.some(isToolResult)
