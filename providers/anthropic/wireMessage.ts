import type { JsonObject } from '../../src/messages/json.ts'
import type { ChatMessage, ToolResultPart } from '../../src/messages/messages.ts'
import { attachmentBlocks, mentioned, resultAndFollowUp, resultContent } from '../wire/attachments.ts'
import { type IdRule, opaqueOf, wireIdsOf } from '../wire/conversation.ts'
import type { Target } from '../wire/protocol.ts'
import { stringAt } from '../wire/wireJson.ts'
import { anthropicForms } from './attachments.ts'
import type { AnthropicProfile } from './profile.ts'
import { rebuild, skeletonAt, textBlock, toolUseBlock } from './replay.ts'

export type WireMessage = { role: 'user' | 'assistant'; content: JsonObject[] }

const idRule: IdRule = { pattern: /^[a-zA-Z0-9_-]+$/, length: 40 }
// Without a history to look originals up in: the engine's ids are unique, the originals it replaced were not.
const wireId = wireIdsOf([], idRule)

/** One message in the API's blocks; the content may be empty. */
export const wireMessage = (turn: ChatMessage, target: Target<AnthropicProfile>): WireMessage =>
  turn.role === 'model'
    ? { role: 'assistant', content: assistantBlocks(turn, target).filter(isSendable) }
    : { role: 'user', content: userBlocks(turn, target).filter(isSendable) }

const userBlocks = (turn: ChatMessage, target: Target<AnthropicProfile>): JsonObject[] =>
  turn.parts.flatMap((part): JsonObject[] => {
    if (part.type === 'text') return [textBlock(part.text)]
    if (part.type === 'toolResult') return toolResultBlocks(part, target)
    return part.type === 'toolCall' ? [] : attachmentBlocks(part, target, anthropicForms(target.profile))
  })

const toolResultBlocks = (part: ToolResultPart, target: Target<AnthropicProfile>): JsonObject[] => {
  const forms = anthropicForms(target.profile)
  if (part.isError) {
    // An error must have text and nothing else; its files follow it.
    const { text, followUp } = resultAndFollowUp(part, target, forms)
    const content = text.trim() === '' ? 'The tool failed.' : text
    return [{ type: 'tool_result', tool_use_id: wireId(part.id), content, is_error: true }, ...followUp]
  }
  const { text, media } = resultContent(part, target, forms)
  const words = text.trim() === '' ? [] : [textBlock(text)]
  // Empty content is refused.
  const content = media.length > 0 ? [...words, ...media] : words.length > 0 ? text : undefined
  return [{ type: 'tool_result', tool_use_id: wireId(part.id), ...(content !== undefined && { content }) }]
}

const assistantBlocks = (turn: ChatMessage, target: Target<AnthropicProfile>): JsonObject[] => {
  const opaque = opaqueOf(turn, 'anthropic', target.provider)
  const original = opaque && rebuild(turn, skeletonAt(opaque), wireId)
  if (original) return target.profile.thinking ? original : original.filter((block) => !isThinking(block))
  return turn.parts.flatMap((part): JsonObject[] => {
    if (part.type === 'text') return [textBlock(part.text)]
    if (part.type === 'toolCall') return [toolUseBlock(part, wireId(part.id))]
    // Only users may attach something: media that another provider's model made is named instead.
    return part.type === 'toolResult' ? [] : [textBlock(mentioned(part))]
  })
}

/** Blank text is rejected everywhere. */
const isSendable = (block: JsonObject): boolean =>
  block.type !== 'text' || (stringAt(block, 'text') ?? '').trim() !== ''

export const isToolResult = (block: JsonObject): boolean => block.type === 'tool_result'

export const isThinking = (block: JsonObject): boolean =>
  block.type === 'thinking' || block.type === 'redacted_thinking'

export const isServerTool = (block: JsonObject): boolean =>
  block.type === 'server_tool_use' || block.type === 'mcp_tool_use'

export const isCompaction = (block: JsonObject): boolean =>
  block.type === 'compaction' && stringAt(block, 'content') !== undefined
