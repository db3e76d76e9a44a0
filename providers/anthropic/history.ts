import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import { type ChatMessage, type ToolResultPart, textOf } from '../../src/messages/messages.ts'
import type { ToolSpec } from '../../src/model/chatModel.ts'
import { foundIn } from '../../src/model/deferredTools.ts'
import { toolChangeOf } from '../../src/model/promptChange.ts'
import { anthropicForms } from '../wire/attachmentForms.ts'
import { attachmentBlocks, mentioned, resultAndFollowUp, resultContent } from '../wire/attachments.ts'
import { stringAt } from '../wire/json.ts'
import { chainedBy, prefixAt } from '../wire/prefix.ts'
import type { Target } from '../wire/protocol.ts'
import { type IdRule, opaqueOf, wireIdsOf } from '../wire/request.ts'
import { writtenOnce } from '../wire/written.ts'
import type { AnthropicProfile } from './profile.ts'
import { containerAt, rebuild, skeletonAt, textBlock, toolUseBlock } from './replay.ts'

/**
 * A history as the API wants it: roles alternate, tool results open the message that answers the calls. `deferred` are the
 * tools that the API loads where a result names them; `define` writes those that a change adds.
 */
export const anthropicMessages = (
  turns: readonly ChatMessage[],
  target: Target<AnthropicProfile>,
  deferred: ReadonlySet<string>,
  define: (spec: ToolSpec) => JsonObject,
): WireMessage[] => {
  const all = alternating(turns.map((turn) => changeOf(turn, define) ?? wireMessage(turn, target, deferred)))
  const messages = sinceCompaction(all)
  const last = messages.at(-1)
  const prompt = messages.findLastIndex(isPrompt)
  const answered = answeredServerTools(messages)
  const acceptable = messages.map((message, index) => {
    if (message.role !== 'assistant') return message
    let { content } = message
    // In a turn that is over, a server tool without its result would be rejected for ever; in an open one the
    // provider picks it up again.
    if (index < prompt) content = content.filter((block) => !isServerTool(block) || answered.has(block.id))
    return { ...message, content: acceptableEnd(content, message === last) }
  })
  return alternating(acceptable)
}

/**
 * Leaves out thinking that is bound to another conversation than the one it would go back in. `start` is the hash of what
 * precedes the messages; returned is also that of everything, for the answer to keep.
 */
export const boundMessages = (
  messages: readonly WireMessage[],
  turns: readonly ChatMessage[],
  start: string,
  provider: string,
): { messages: WireMessage[]; prefix: string } => {
  const prefixes = prefixesOf(turns, provider)
  let prefix = start
  const bound = messages.map(({ role, content: all }, index) => {
    // The provider's own compaction replaces what its block was bound to.
    const isTrusted = index === 0 && all.some(isCompaction)
    const passed = new Set([prefix])
    const content = all.filter((block) => {
      const before = prefixes.get(block)
      if (before !== undefined && !isTrusted && !passed.has(before)) return false
      prefix = chainedBy(block, prefix, role, block)
      passed.add(prefix)
      return true
    })
    return { role, content }
  })
  return { messages: bound.filter(({ content }) => content.length > 0), prefix }
}

/** The hashes of what preceded each thinking block of a history. */
const prefixesOf = (turns: readonly ChatMessage[], provider: string): Map<JsonObject, string> => {
  const prefixes = new Map<JsonObject, string>()
  for (const turn of turns) {
    const opaque = turn.role === 'model' ? opaqueOf(turn, 'anthropic', provider) : undefined
    const prefix = prefixAt(opaque)
    if (!opaque || prefix === undefined) continue
    for (const block of skeletonAt(opaque))
      if (isJsonObject(block) && isThinking(block)) prefixes.set(block, prefix)
  }
  return prefixes
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
    // In place: thousands of messages in a row would be copied for each of them otherwise.
    if (previous?.role === role) for (const block of content) previous.content.push(block)
    else joined.push({ role, content: [...content] })
  }
  return joined.map(({ role, content }) => ({ role, content: inOrder(role, content) }))
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
  const since = [{ ...message, content }, ...messages.slice(index + 1)]
  const lost = changesIn(messages.slice(0, index), content[0])
  const next = since.findIndex(({ role }) => role === 'user')
  // A change follows a message of the user.
  return lost.length === 0 || next < 0
    ? since
    : since.toSpliced(next + 1, 0, { role: 'system', content: lost })
}

/** The changes that a compaction does not have: the newest prompt, and tools where the server did not note them. */
const changesIn = (replaced: readonly WireMessage[], compaction: JsonObject | undefined): JsonObject[] => {
  const blocks = replaced.filter(({ role }) => role === 'system').flatMap(({ content }) => content)
  const prompt = blocks.findLast(({ type }) => type === 'text')
  const areNoted = Array.isArray(compaction?.tool_changes)
  return [...(prompt ? [prompt] : []), ...(areNoted ? [] : blocks.filter(({ type }) => type !== 'text'))]
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

export type WireMessage = { role: 'user' | 'assistant' | 'system'; content: JsonObject[] }

/** A change of the system prompt or of the tools, where it happens. */
const changeOf = (turn: ChatMessage, define: (spec: ToolSpec) => JsonObject): WireMessage | undefined => {
  const change = toolChangeOf(turn)
  if (!change) return undefined
  const text = textOf(turn)
  return {
    role: 'system',
    content: [
      ...(text === '' ? [] : [textBlock(text)]),
      ...change.removed.map((name) => ({ type: 'tool_removal', tool: { type: 'tool_reference', name } })),
      ...change.added.map((spec) => ({
        type: 'tool_addition',
        tool: { type: 'tool_definition', definition: define(spec) },
      })),
    ],
  }
}

const idRule: IdRule = { pattern: /^[a-zA-Z0-9_-]+$/, length: 40 }
// Without a history to look originals up in: the engine's ids are unique, the originals it replaced were not.
const wireId = wireIdsOf([], idRule)

/** A message in the API's blocks; the content may be empty. */
const wireMessage = (
  turn: ChatMessage,
  target: Target<AnthropicProfile>,
  deferred: ReadonlySet<string>,
): WireMessage => {
  const isModel = turn.role === 'model'
  const content = writtenOnce(turn, target, isModel ? '' : [...deferred].join('\u0000'), () =>
    (isModel ? assistantBlocks(turn, target) : userBlocks(turn, target, deferred)).filter(isSendable),
  )
  return { role: isModel ? 'assistant' : 'user', content }
}

const userBlocks = (
  turn: ChatMessage,
  target: Target<AnthropicProfile>,
  deferred: ReadonlySet<string>,
): JsonObject[] =>
  turn.parts.flatMap((part): JsonObject[] => {
    if (part.type === 'text') return [textBlock(part.text)]
    if (part.type === 'toolResult') return toolResultBlocks(part, target, deferred)
    return part.type === 'toolCall' ? [] : attachmentBlocks(part, target, anthropicForms(target.profile))
  })

const toolResultBlocks = (
  part: ToolResultPart,
  target: Target<AnthropicProfile>,
  deferred: ReadonlySet<string>,
): JsonObject[] => {
  // A reference to a tool that is gone by now would be refused.
  const found = deferred.size > 0 ? foundIn(part).filter((name) => deferred.has(name)) : []
  if (found.length > 0) {
    const content = found.map((tool_name) => ({ type: 'tool_reference', tool_name }))
    return [{ type: 'tool_result', tool_use_id: wireId(part.id), content }]
  }
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

const isToolResult = (block: JsonObject): boolean => block.type === 'tool_result'

export const isThinking = (block: JsonObject): boolean =>
  block.type === 'thinking' || block.type === 'redacted_thinking'

const isServerTool = (block: JsonObject): boolean =>
  block.type === 'server_tool_use' || block.type === 'mcp_tool_use'

const isCompaction = (block: JsonObject): boolean =>
  block.type === 'compaction' && stringAt(block, 'content') !== undefined
