import type { JsonObject } from '../../src/messages/json.ts'
import type { ChatMessage, ToolCallPart, ToolResultPart } from '../../src/messages/messages.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import { converseForms } from '../wire/attachmentForms.ts'
import { attachmentBlocks, mentioned, resultAndFollowUp, resultContent } from '../wire/attachments.ts'
import { stringAt } from '../wire/json.ts'
import type { Target } from '../wire/protocol.ts'
import { cacheMarker, conversationOf, type IdRule, idsIn, requestEnds, wireIdsOf } from '../wire/request.ts'
import { writtenOnce } from '../wire/written.ts'
import type { ConverseProfile } from './profile.ts'
import { answerBlocks, toolUseBlock } from './replay.ts'

type WireMessage = { role: 'user' | 'assistant'; content: JsonObject[] }

const usualIds: IdRule = { pattern: /^[a-zA-Z0-9_-]{1,64}$/, length: 40 }

/** The system prompt, with the end of what is to be cached. */
export const converseSystem = (
  { messages, cache }: ModelRequest,
  { promptCache }: ConverseProfile,
): JsonObject[] => {
  const { system } = conversationOf(messages)
  if (system.trim() === '') return []
  return promptCache && cacheMarker(cache) ? [{ text: system }, cachePoint] : [{ text: system }]
}

const cachePoint: JsonObject = { cachePoint: { type: 'default' } }

/**
 * The history as Converse wants it: roles alternate, and tool results open the message that answers the calls. Blocks of
 * tools are refused in a request that offers none (`hasTools`): there they are texts.
 */
export const converseMessages = (
  { messages, cache }: ModelRequest,
  target: Target<ConverseProfile>,
  hasTools: boolean,
): JsonObject[] => {
  const wireId = wireIdsOf(messages, target.profile.toolCallIds ?? usualIds)
  const joined: WireMessage[] = []
  for (const turn of conversationOf(messages).turns) {
    const role = turn.role === 'model' ? 'assistant' : 'user'
    const content = writtenOnce(turn, target, `${hasTools}\u0000${idsIn(turn, wireId)}`, () =>
      (role === 'user'
        ? userBlocks(turn, target, wireId, hasTools)
        : assistantBlocks(turn, target, wireId, hasTools)
      ).filter(isSendable),
    )
    const previous = joined.at(-1)
    if (content.length === 0) continue
    // In place: thousands of messages in a row would be copied for each of them otherwise.
    if (previous?.role === role) for (const block of content) previous.content.push(block)
    else joined.push({ role, content: [...content] })
  }
  const ordered = joined.map(({ role, content }) => ({ role, content: inOrder(role, content) }))
  const ends = target.profile.promptCache && cacheMarker(cache) ? new Set(requestEnds(ordered)) : undefined
  return ordered.map(({ role, content }, index) => ({
    role,
    content: ends?.has(index) ? [...content, cachePoint] : content,
  }))
}

const inOrder = (role: WireMessage['role'], content: JsonObject[]): JsonObject[] => {
  if (role === 'assistant') return content
  const results = content.filter((block) => 'toolResult' in block)
  const others = results.length > 0 ? content.filter((block) => !('toolResult' in block)) : content
  // A document without a word about it is refused.
  const needsWords = others.some((block) => 'document' in block) && !others.some((block) => 'text' in block)
  return [...results, ...others, ...(needsWords ? [{ text: 'See the document.' }] : [])]
}

/** Blank text is refused everywhere. */
const isSendable = (block: JsonObject): boolean => stringAt(block, 'text')?.trim() !== ''

const userBlocks = (
  turn: ChatMessage,
  target: Target<ConverseProfile>,
  wireId: (id: string) => string,
  hasTools: boolean,
): JsonObject[] =>
  turn.parts.flatMap((part): JsonObject[] => {
    if (part.type === 'text') return [{ text: part.text }]
    if (part.type === 'toolCall') return []
    if (part.type !== 'toolResult') return attachmentBlocks(part, target, converseForms(target.profile))
    return hasTools ? resultBlocks(part, target, wireId) : resultWords(part, target)
  })

const resultBlocks = (
  part: ToolResultPart,
  target: Target<ConverseProfile>,
  wireId: (id: string) => string,
): JsonObject[] => {
  const { richResults } = target.profile
  const forms = converseForms(target.profile)
  const { text, media, followUp } = richResults
    ? { ...resultContent(part, target, forms), followUp: [] }
    : { ...resultAndFollowUp(part, target, forms), media: [] }
  const words =
    text.trim() === '' && media.length > 0 ? [] : [{ text: text.trim() === '' ? '(empty)' : text }]
  const status = richResults && part.isError ? { status: 'error' } : {}
  return [
    { toolResult: { toolUseId: wireId(part.id), content: [...words, ...media], ...status } },
    ...followUp,
  ]
}

const resultWords = (part: ToolResultPart, target: Target<ConverseProfile>): JsonObject[] => {
  const { text, followUp } = resultAndFollowUp(part, target, converseForms(target.profile))
  return [{ text: `[result of ${part.name}: ${text}]` }, ...followUp]
}

const assistantBlocks = (
  turn: ChatMessage,
  target: Target<ConverseProfile>,
  wireId: (id: string) => string,
  hasTools: boolean,
): JsonObject[] => {
  const original = hasTools ? answerBlocks(turn, target, wireId) : undefined
  if (original) return original
  return turn.parts.flatMap((part): JsonObject[] => {
    if (part.type === 'text') return [{ text: part.text }]
    if (part.type === 'toolCall')
      return [hasTools ? toolUseBlock(part, wireId(part.id)) : { text: callWords(part) }]
    // Only users may attach something: media that a model made is named instead.
    return part.type === 'toolResult' ? [] : [{ text: mentioned(part) }]
  })
}

const callWords = ({ name, arguments: args }: ToolCallPart): string =>
  `[called ${name} with ${JSON.stringify(args)}]`
