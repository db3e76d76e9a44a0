import { joinBase64 } from '../../src/messages/base64.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { ChatMessage, ToolCallPart } from '../../src/messages/messages.ts'
import { arrayAt, numberAt, stringAt } from '../wire/json.ts'
import type { Target } from '../wire/protocol.ts'
import { rebuilt } from '../wire/replay.ts'
import { opaqueOf, thinkingOf } from '../wire/request.ts'

/** A block of an answer, as far as its place counts: texts by their length, calls by their number. */
export type AnswerBlock =
  | { kind: 'text'; length: number }
  | { kind: 'call'; order: number }
  | { kind: 'reasoning'; length: number; signature: string; redacted: string[] }

/**
 * The order of an answer's blocks, where its reasoning has to go back with it: signed and encrypted always, plain text
 * with the calls that it led to. The texts themselves are on the message.
 */
export const replayOf = (
  blocks: readonly AnswerBlock[],
  { provider, model }: Target,
): JsonObject | undefined => {
  const hasCalls = blocks.some(({ kind }) => kind === 'call')
  const mustGoBack = (block: AnswerBlock) =>
    block.kind === 'reasoning' && (hasCalls || block.signature !== '' || block.redacted.length > 0)
  if (!blocks.some(mustGoBack)) return undefined
  return { provider, model, blocks: blocks.map(entryOf) }
}

const entryOf = (block: AnswerBlock): JsonObject => {
  if (block.kind === 'text') return { text: block.length }
  if (block.kind === 'call') return { call: block.order }
  const { length, signature, redacted } = block
  if (redacted.length > 0) return { redacted: joinBase64(redacted), ...(length > 0 && { thinking: length }) }
  return { thinking: length, ...(signature !== '' && { signature }) }
}

export const toolUseBlock = (call: ToolCallPart, toolUseId: string): JsonObject => ({
  toolUse: {
    toolUseId,
    name: call.name,
    input: call.argumentsError === undefined ? call.arguments : {},
  },
})

/** The blocks of a model message as they came; undefined for another model's, or one that was edited since. */
export const answerBlocks = (
  message: ChatMessage,
  { provider, model }: Target,
  wireId: (id: string) => string,
): JsonObject[] | undefined => {
  const opaque = opaqueOf(message, 'bedrock-converse', provider)
  if (opaque?.model !== model) return undefined
  const thoughts = thinkingOf(message) ?? ''
  let used = 0
  const blocks = rebuilt(message, arrayAt(opaque, 'blocks') ?? [], {
    block: (entry) => {
      if ('text' in entry || 'call' in entry) return undefined
      const start = used
      used += numberAt(entry, 'thinking') ?? 0
      return { reasoningContent: reasoningOf(entry, thoughts.slice(start, used)) }
    },
    text: (text) => ({ text }),
    call: (call) => toolUseBlock(call, wireId(call.id)),
  })
  return used === thoughts.length ? blocks : undefined
}

const reasoningOf = (entry: JsonObject, text: string): JsonObject => {
  const redactedContent = stringAt(entry, 'redacted')
  if (redactedContent !== undefined) return { redactedContent }
  const signature = stringAt(entry, 'signature')
  return { reasoningText: { text, ...(signature !== undefined && { signature }) } }
}
